"""Test sets as the scorer reads them: every sentence once, whatever its length."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.origins import parts_by_origin
from components.artifacts.text_shards import TRAIN, read_shard, shard_name
from components.artifacts.token_index import TaskTokens, TokenIndex, too_long_file
from components.artifacts.token_rows import FIELDS, ORIGINS, SENTENCE_IDS, load_rows
from components.tokenize.vocabulary import Vocabulary
from models.errors import UserError

log = logging.getLogger(__name__)

# Attention is quadratic in the length; no sentence that a person wrote is longer.
LONGEST = 1024


@dataclasses.dataclass(frozen=True)
class LongPair:
    """A sentence pair that is longer than a packed row.

    Attributes:
      number: Its number in the test set.
      source_ids, target_ids: int32 ``[length]`` each.
    """

    number: int
    source_ids: np.ndarray
    target_ids: np.ndarray


@dataclasses.dataclass(frozen=True)
class TestSet:
    """One test set of one task.

    Attributes:
      task, name: ``en-de``, ``in_domain``.
      fields: Name -> int array ``[rows, length]``, for each of `FIELDS`.
      sentence_ids: int ``[rows, most sentences in a row]``, -1 where there is none.
      long: The sentences that fit in no row.
      origins: Original language of each sentence, ``source``, ``target`` or
        ``mixed``, by sentence number; empty when it is not known.
      left_out: Numbers of sentences longer than `LONGEST`, which are not scored.
    """

    __test__ = False  # not a test of pytest's

    task: str
    name: str
    fields: Mapping[str, np.ndarray]
    sentence_ids: np.ndarray
    long: tuple[LongPair, ...] = ()
    origins: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the sentences that are scored, rising, int ``[sentences]``."""
        packed = self.sentence_ids[self.sentence_ids >= 0]
        long = np.array([pair.number for pair in self.long], packed.dtype)
        return np.sort(np.concatenate([packed, long]))

    @property
    def sentences(self) -> int:
        """Sentences that are scored."""
        return int((self.sentence_ids >= 0).sum()) + len(self.long)

    def parts(self) -> dict[str, np.ndarray]:
        """The scored sentences and their halves, see `parts_by_origin`."""
        if not self.origins:
            return parts_by_origin((), self.sentences)
        origins = np.array(self.origins)[self.numbers].tolist()
        return parts_by_origin(origins, self.sentences)


def load_test_sets(tokens: Path, tasks: Sequence[str]) -> tuple[TestSet, ...]:
    """Every test set of the given tasks in an artifact of ``tokenize``.

    Pairs that are longer than a packed row are read from its dead letters: a test
    set is evaluated whole.
    """
    index = TokenIndex.load(tokens)
    vocabulary = Vocabulary.load(tokens)
    return tuple(
        _load(tokens, vocabulary, task, name, index.tasks[task])
        for task in tasks
        for name in index.tasks[task].splits
        if name != TRAIN
    )


def _load(
    tokens: Path, vocabulary: Vocabulary, task: str, name: str, described: TaskTokens
) -> TestSet:
    (rows,) = load_rows(tokens, task, name).shards  # a test set is one shard
    letters = list(_long_records(tokens, task, name))
    long, left_out = [], []
    for record in letters:
        source, _ = vocabulary.encode([record["source"]], described.tag)
        target, _ = vocabulary.encode([record["target"]])
        number = record["line"] - 1
        if max(len(source), len(target)) > LONGEST:
            left_out.append(number)
        else:
            long.append(LongPair(number, source, target))
    if left_out:
        log.warning(
            "%s %s: %d sentences of more than %d tokens are not evaluated",
            task,
            name,
            len(left_out),
            LONGEST,
        )
    test_set = TestSet(
        task,
        name,
        {field: rows[field].astype(np.int32) for field in FIELDS},
        rows[SENTENCE_IDS],
        tuple(long),
        _origins(rows, letters),
        tuple(left_out),
    )
    counts = described.splits[name]
    _check_whole(test_set, counts.examples + counts.dropped_too_long)
    return test_set


def _long_records(tokens: Path, task: str, name: str) -> Iterator[dict[str, Any]]:
    """What ``tokenize`` could not put in a row; a test set is one shard."""
    path = tokens / too_long_file(task, shard_name(name, 0, 1, ""))
    return read_shard(path) if path.is_file() else iter(())


def _origins(rows: np.ndarray, letters: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The origin of every sentence by its number, or nothing when one has none."""
    numbers = rows[SENTENCE_IDS]
    known = {record["line"] - 1: record.get("origin", "") for record in letters}
    if ORIGINS in (rows.dtype.names or ()):
        present = numbers >= 0
        packed = zip(numbers[present], rows[ORIGINS][present], strict=True)
        known |= {int(number): str(origin) for number, origin in packed}
    elif (numbers >= 0).any():
        return ()
    ordered = [known.get(number, "") for number in range(len(known))]
    return tuple(ordered) if all(ordered) else ()


def _check_whole(test_set: TestSet, expected: int) -> None:
    """Every sentence of the test set is there once."""
    numbers = np.sort(np.append(test_set.numbers, np.array(test_set.left_out, int)))
    if not np.array_equal(numbers, np.arange(expected)):
        raise UserError(
            f"evaluate {test_set.task} {test_set.name}: {len(set(numbers.tolist()))} "
            f"sentences in the files, {expected} expected; run tokenize again"
        )
