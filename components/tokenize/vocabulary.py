"""One SentencePiece vocabulary for all languages, and text to ids with it."""

from __future__ import annotations

import functools
import io
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from components.artifacts.token_index import VOCABULARY
from components.tokenize.config import LEAST_COVERAGE, Config
from components.tokenize.packing import Sentences
from models.errors import UserError

PAD, EOS, UNKNOWN = 0, 1, 2
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


def check(path: Path, config: Config, tags: Iterable[str]) -> None:
    """Raises ``UserError`` unless a model that was trained elsewhere can be used.

    Args:
      path: A SentencePiece model.
      config: Its size has to be the model's.
      tags: Pieces that it has to have, such as ``<2de>``.
    """
    pieces = sentencepiece.SentencePieceProcessor()
    try:
        pieces.load_from_serialized_proto(path.read_bytes())
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"tokenize.model: {path} is not a SentencePiece model that can be read; "
            "expected the .model file of one, relative to the experiment file"
        ) from error
    special = pieces.pad_id(), pieces.eos_id(), pieces.unk_id()
    if special != (PAD, EOS, UNKNOWN):
        raise UserError(
            f"tokenize.model: {path} has padding, end and unknown at {special}; "
            f"expected {(PAD, EOS, UNKNOWN)}; train it with pad_id=0, "
            "eos_id=1, unk_id=2"
        )
    if pieces.get_piece_size() != config.vocabulary_size:
        raise UserError(
            f"tokenize.vocabulary_size: {config.vocabulary_size}, but {path} has "
            f"{pieces.get_piece_size()} pieces; set it to that"
        )
    missing = sorted(tag for tag in tags if pieces.piece_to_id(tag) == UNKNOWN)
    if missing:
        raise UserError(
            f"tokenize.model: {path} has no piece {', '.join(missing)}, by which the "
            "source says what to translate into; train it with them as "
            "user_defined_symbols"
        )


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
        return cls((directory / VOCABULARY).read_bytes())

    @property
    def size(self) -> int:
        return self._pieces.get_piece_size()

    @functools.cached_property
    def pieces(self) -> list[str]:
        """The text of every piece, by id."""
        return [self._pieces.id_to_piece(i) for i in range(self.size)]

    @functools.cached_property
    def byte_pieces(self) -> np.ndarray:
        """Whether each piece is a byte that stands for part of an unknown
        character, bool [size]."""
        return np.array([self._pieces.is_byte(i) for i in range(self.size)])

    def tag_id(self, tag: str) -> int:
        """Id of a tag such as ``<2de>``.

        Raises:
          UserError: The vocabulary has no such tag.
        """
        piece = self._pieces.piece_to_id(tag)
        if piece == UNKNOWN:
            raise UserError(f"{tag} is not in the vocabulary; it knows other languages")
        return piece

    def encode(self, texts: Sequence[str], tag: str | None = None) -> Sentences:
        """Ids of sentences: the tag where there is one, the pieces, eos."""
        ids = self._pieces.encode(list(texts), out_type=int, add_eos=True)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        chained = itertools.chain.from_iterable(ids)
        flat = np.fromiter(chained, np.int32, int(lengths.sum()))
        if tag is not None:
            starts = np.cumsum(lengths) - lengths
            flat, lengths = np.insert(flat, starts, self.tag_id(tag)), lengths + 1
        return Sentences(flat, lengths)

    def decode(self, ids: Iterable[int]) -> str:
        """Text of one sentence; padding, eos and tags leave no trace."""
        text = self._pieces.decode([int(i) for i in ids if i not in (PAD, EOS)])
        return _TAG.sub("", text)


_TAG = re.compile(r"^<2[^<> ]+> ?")


def _explained(config: Config, error: str) -> str:
    size = config.vocabulary_size
    if limit := re.search(r"value <= (\d+)", error):
        return (
            f"tokenize.vocabulary_size: {size} is more than the text has pieces for; "
            f"at most {limit[1]} here"
        )
    if "required_chars" in error or "smaller than" in error:
        ways = ["enlarge it"]
        if config.character_coverage > LEAST_COVERAGE:
            ways.append("lower tokenize.character_coverage")
        if not config.byte_fallback:
            ways.append("set tokenize.byte_fallback: true")
        return (
            f"tokenize.vocabulary_size: {size} is fewer than the text has "
            f"characters; {' or '.join(ways)}"
        )
    return f"tokenize: SentencePiece cannot train a vocabulary of {size}: {error}"
