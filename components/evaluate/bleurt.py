"""BLEURT (Sellam et al. 2020, Pu et al. 2021) through its published SavedModel.

A checkpoint is a folder with ``saved_model.pb``, ``variables/`` and
``bleurt_config.json``, which names its tokenizer: a SentencePiece model
(``sp_model``: BLEURT-20 and its smaller versions) or a BERT vocabulary
(``vocab_file``, ``do_lower_case``: the older ones). The signature
``serving_default`` takes ``input_ids``, ``input_mask`` and ``segment_ids``, int64
``[sentences, length]``, of ``[CLS] reference [SEP] candidate [SEP]`` with segments 0
up to the first ``[SEP]`` and 1 after it, and returns ``predictions``, float
``[sentences]``. The package of its authors is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from components.evaluate.metric import SentenceMetric
from models.errors import UserError

CONFIG = "bleurt_config.json"
Encode = Callable[[Sequence[str]], list[list[int]]]
_INPUTS = ("input_ids", "input_mask", "segment_ids")
_BATCH = 32


class Bleurt(SentenceMetric):
    """A checkpoint of BLEURT as a metric of `components.evaluate.quality`.

    Args:
      folder: The checkpoint.

    Raises:
      UserError: It is not one, or a file of it is missing.
    """

    name = "bleurt"

    def __init__(self, folder: Path):
        config = _read_config(folder)
        self.length = int(config["max_seq_length"])
        self.dynamic = bool(config.get("dynamic_seq_length"))
        self._start, self._end, self._encode = _tokenizer(folder, config)
        try:
            # The function lives as long as the object that it was loaded with.
            self._loaded = tf.saved_model.load(str(folder))
            self._predict = self._loaded.signatures["serving_default"]
        except (OSError, KeyError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(f"{folder}: no SavedModel of BLEURT: {reason}") from None
        _check_signature(folder, self._predict)
        self.signature = f"model:{config['name']}|refs:max|length:{self.length}"

    def score_triples(self, triples: Sequence[tuple[str, str, str]]) -> np.ndarray:
        """See `SentenceMetric`; the source does not matter."""
        encoded = [self.encode(*pair) for _, *pair in triples]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i][0]))
        scores = np.zeros(len(encoded))
        for first in range(0, len(order), _BATCH):
            places = order[first : first + _BATCH]
            batch = self._batch([encoded[i] for i in places])
            scores[places] = self._predict(**batch)["predictions"].numpy()
        return scores

    def encode(self, reference: str, candidate: str) -> tuple[list[int], list[int]]:
        """Ids and segments of a pair, without padding.

        Of a pair that is too long the longer side loses its end, the candidate when
        both are equally long.
        """
        left, right = (list(ids) for ids in self._encode([reference, candidate]))
        while len(left) + len(right) > self.length - 3:
            (left if len(left) > len(right) else right).pop()
        ids = [self._start, *left, self._end, *right, self._end]
        segments = [0] * (len(left) + 2) + [1] * (len(right) + 1)
        return ids, segments

    def _batch(
        self, encoded: Sequence[tuple[list[int], list[int]]]
    ) -> dict[str, tf.Tensor]:
        longest = max(len(ids) for ids, _ in encoded)
        width = longest if self.dynamic else self.length
        inputs = np.zeros((3, len(encoded), width), np.int64)
        for row, (ids, segments) in enumerate(encoded):
            inputs[0, row, : len(ids)] = ids
            inputs[1, row, : len(ids)] = 1
            inputs[2, row, : len(ids)] = segments
        return {
            name: tf.constant(part) for name, part in zip(_INPUTS, inputs, strict=True)
        }


def _read_config(folder: Path) -> Mapping:
    path = folder / CONFIG
    if not path.is_file():
        raise UserError(
            f"{folder}: no {CONFIG}; expected an unpacked BLEURT checkpoint, such as "
            "BLEURT-20"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not JSON that can be read: {error}") from None
    if not isinstance(config, dict) or not {"name", "max_seq_length"} <= set(config):
        raise UserError(f"{path}: no name or no max_seq_length; is it of BLEURT?")
    return config


def _check_signature(folder: Path, predict: Callable) -> None:
    """Raises ``UserError`` unless a function takes and gives what BLEURT does."""
    takes = set(predict.structured_input_signature[1])
    gives = set(predict.structured_outputs)
    if takes != set(_INPUTS) or "predictions" not in gives:
        raise UserError(
            f"{folder}: a SavedModel from {', '.join(sorted(takes))} to "
            f"{', '.join(sorted(gives))}; BLEURT's is from {', '.join(_INPUTS)} to "
            "predictions"
        )


def _tokenizer(folder: Path, config: Mapping) -> tuple[int, int, Encode]:
    """Ids of ``[CLS]`` and ``[SEP]``, and texts -> ids."""
    if config.get("sp_model"):
        return _sentence_pieces(_present(folder, f"{config['sp_model']}.model"))
    if not config.get("vocab_file"):
        raise UserError(f"{folder / CONFIG}: neither sp_model nor vocab_file")
    path = _present(folder, config["vocab_file"])
    return _word_pieces(path, bool(config.get("do_lower_case")))


def _sentence_pieces(path: Path) -> tuple[int, int, Encode]:
    import sentencepiece

    try:
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError):
        raise UserError(f"{path}: not a SentencePiece model") from None

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return pieces.encode(list(texts), out_type=int)

    known = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
    return _place(path, known, "[CLS]"), _place(path, known, "[SEP]"), encode


def _word_pieces(path: Path, lower: bool) -> tuple[int, int, Encode]:
    import tensorflow_text

    words = path.read_text(encoding="utf-8").split("\n")
    pieces = tensorflow_text.BertTokenizer(
        str(path), lower_case=lower, token_out_type=tf.int64
    )

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return pieces.tokenize(list(texts)).merge_dims(1, 2).to_list()

    return _place(path, words, "[CLS]"), _place(path, words, "[SEP]"), encode


def _place(path: Path, words: Sequence[str], word: str) -> int:
    if word not in words:
        raise UserError(f"{path}: has no {word}, which BLEURT puts around sentences")
    return words.index(word)


def _present(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise UserError(f"{path}: missing; {folder / CONFIG} names it")
    return path
