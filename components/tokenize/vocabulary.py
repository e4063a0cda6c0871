"""One SentencePiece vocabulary for all languages, and text to ids with it."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from components.text_shards import TRAIN, read_shard, split_shards
from components.tokenize.config import Config
from models.errors import UserError

PAD, EOS, UNKNOWN = 0, 1, 2
FILE_NAME = "vocabulary.model"
_THREADS = 1  # the pieces depend on the number of threads


def target_tags(tasks: Sequence[str]) -> dict[str, str | None]:
    """The tag that tells the model which language to write, task by task.

    Args:
      tasks: Directions such as ``en-de``.

    Returns:
      Task -> ``<2de>``, or ``None`` for every task when they all go into one
      language and there is nothing to tell.

    Example:
      >>> target_tags(("en-de", "en-fr"))
      {'en-de': '<2de>', 'en-fr': '<2fr>'}
      >>> target_tags(("de-en", "zh-en"))
      {'de-en': None, 'zh-en': None}
    """
    languages = {task: task.partition("-")[2] for task in tasks}
    several = len(set(languages.values())) > 1
    return {
        task: f"<2{language}>" if several else None
        for task, language in languages.items()
    }


def sample_sentences(
    ingest: Path, tasks: Sequence[str], sentences: int
) -> dict[str, list[str]]:
    """Training text of each language, the same number of sentences of each.

    The shards are in the order of a hash, so the beginning of them is a uniform
    sample, and a small part of the data is read.

    Args:
      ingest: The artifact of ``ingest``.
      tasks: Directions such as ``en-de``.
      sentences: Sentences of each language at most.

    Returns:
      Language -> sentences, in an order that depends on nothing else.
    """
    sides: dict[str, list[tuple[str, str]]] = {}
    for task in sorted(tasks):
        source, _, target = task.partition("-")
        sides.setdefault(source, []).append((task, "source"))
        sides.setdefault(target, []).append((task, "target"))
    found = {
        language: list(
            itertools.islice(
                _alternate([_side(ingest / task, key) for task, key in places]),
                sentences,
            )
        )
        for language, places in sorted(sides.items())
    }
    fewest = min(len(texts) for texts in found.values())
    return {language: texts[:fewest] for language, texts in found.items()}


def train(config: Config, texts: Mapping[str, list[str]], tags: Iterable[str]) -> bytes:
    """Trains the vocabulary.

    Args:
      config: Size and kind of the vocabulary.
      texts: Language -> sentences.
      tags: Pieces that never split, such as ``<2de>``.

    Returns:
      The serialised SentencePiece model.

    Raises:
      UserError: The text has too few or too many different pieces for the size.
    """
    model = io.BytesIO()
    characters = max(map(len, itertools.chain.from_iterable(texts.values())), default=0)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=itertools.chain.from_iterable(texts.values()),
            model_writer=model,
            vocab_size=config.vocabulary_size,
            model_type=config.model_type,
            character_coverage=config.character_coverage,
            byte_fallback=config.byte_fallback,
            normalization_rule_name=config.normalization,
            user_defined_symbols=sorted(tags),
            pad_id=PAD,
            eos_id=EOS,
            unk_id=UNKNOWN,
            bos_id=-1,
            num_threads=_THREADS,
            max_sentence_length=max(4192, 4 * characters),
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise UserError(_explained(config, str(error))) from error
    return model.getvalue()


class Vocabulary:
    """A trained vocabulary: text to ids and back.

    Args:
      model: The serialised SentencePiece model.
    """

    def __init__(self, model: bytes):
        self.serialised = model
        self._pieces = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def load(cls, directory: Path) -> Vocabulary:
        """The vocabulary of an artifact of ``tokenize``."""
        return cls((directory / FILE_NAME).read_bytes())

    @property
    def size(self) -> int:
        return self._pieces.get_piece_size()

    def tag_id(self, tag: str) -> int:
        """Id of a tag such as ``<2de>``.

        Raises:
          UserError: The vocabulary has no such tag.
        """
        found = self._pieces.piece_to_id(tag)
        if found == UNKNOWN:
            raise UserError(f"{tag} is not in the vocabulary; it knows other languages")
        return found

    def encode(
        self, texts: Sequence[str], tag: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids of sentences: the tag where there is one, the pieces, eos.

        Returns:
          The ids of all sentences one after another, int32 [sum of lengths], and
          the length of each, int64 [len(texts)].
        """
        ids = self._pieces.encode(list(texts), out_type=int, add_eos=True)
        if tag is not None:
            first = [self.tag_id(tag)]
            ids = [first + sentence for sentence in ids]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = itertools.chain.from_iterable(ids)
        return np.fromiter(flat, np.int32, int(lengths.sum())), lengths

    def decode(self, ids: Iterable[int]) -> str:
        """Text of one sentence; padding, eos and tags leave no trace."""
        text = self._pieces.decode([int(i) for i in ids if i not in (PAD, EOS)])
        return _TAG.sub("", text)


_TAG = re.compile(r"^<2[^<> ]+> ?")


def _side(directory: Path, key: str) -> Iterator[str]:
    for path in split_shards(directory, TRAIN):
        for record in read_shard(path):
            yield record[key]


def _alternate(streams: Sequence[Iterator[str]]) -> Iterator[str]:
    """One of each in turn until all are exhausted."""
    nothing = object()
    for group in itertools.zip_longest(*streams, fillvalue=nothing):
        yield from (text for text in group if text is not nothing)


def _explained(config: Config, error: str) -> str:
    size = config.vocabulary_size
    if found := re.search(r"value <= (\d+)", error):
        return (
            f"tokenize.vocabulary_size: {size} is more than the text has pieces for; "
            f"at most {found[1]} here"
        )
    if "required_chars" in error or "smaller than" in error:
        return (
            f"tokenize.vocabulary_size: {size} is fewer than the text has "
            "characters; enlarge it, lower character_coverage or set byte_fallback"
        )
    return f"tokenize: SentencePiece cannot train a vocabulary of {size}: {error}"
