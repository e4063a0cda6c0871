"""The stages of the Beam graph of ``ingest``."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindows

from components.artifacts.origins import MIXED
from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest import corpus_check, pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean
from components.ingest.config import Config
from components.ingest.duplicates import equivalent
from components.ingest.graph import splits
from components.ingest.graph.sinks import Sinks, dead_letter_shard
from components.ingest.layout import READ
from components.ingest.sources.inputs import SyntheticInput, TextInput
from components.ingest.sources.reading import parts, read
from models.errors import UserError

_PAIRS_TOGETHER = 1 << 16


class Part(NamedTuple):
    """Every ``step``-th batch of an input from the ``first`` on."""

    number: int
    entry: TextInput | SyntheticInput
    first: int
    step: int


class Parts(beam.DoFn):
    """Splits an input into parts that different workers can read.

    Lines of a file cannot be found without reading what comes before them, but
    reading costs a twentieth of cleaning: every worker reads the file and cleans
    every so manieth batch.

    Args:
      workers: How many workers share an input.
    """

    def __init__(self, workers: int):
        self._workers = workers

    def process(
        self, numbered: tuple[int, TextInput | SyntheticInput]
    ) -> Iterator[Part | pvalue.TaggedOutput]:
        number, entry = numbered
        workers = self._workers if isinstance(entry, TextInput) else 1
        try:
            found = list(parts(entry))
            if len(found) >= workers:
                workers = 1  # there is enough for everybody
            for part in found:
                yield from (Part(number, part, i, workers) for i in range(workers))
        except UserError as error:
            yield pvalue.TaggedOutput("problems", str(error))


class Read(beam.DoFn):
    """Reads a part of an input in batches; what cannot be read is a problem."""

    def __init__(self, config: Config):
        self._config = config

    def process(self, part: Part) -> Iterator[Batch | pvalue.TaggedOutput]:
        try:
            batches = read(part.entry, part.number, self._config.synthetic)
            yield from itertools.islice(batches, part.first, None, part.step)
        except UserError as error:
            yield pvalue.TaggedOutput("problems", str(error))


def checked(entry: TextInput) -> Iterator[dict[str, Any]]:
    """What a sample of an input says of it; nothing where it cannot be read."""
    with contextlib.suppress(UserError):
        yield dataclasses.asdict(corpus_check.check(entry))


class Clean(beam.DoFn):
    """Repairs a batch and applies the rules: tables of training text by task, of
    tests by task and split, and dead letters.

    Named test sets keep every pair that has text on both sides.
    """

    def __init__(self, config: Config):
        self._config = config
        self._rules = config.rules
        if config.source == "synthetic":
            self._rules = config.rules.of_invented_languages()

    def process(
        self, batch: Batch
    ) -> Iterator[tuple[str, pa.Table] | pvalue.TaggedOutput]:
        own = batch.split in (TRAIN, IN_DOMAIN)
        pairs, letters = clean(batch, self._rules if own else None, self._config.seed)
        counted = (batch.task, batch.split, READ), len(batch.sources)
        yield pvalue.TaggedOutput("counts", counted)
        yield from _dead_letters(batch.task, letters, self._config.shards)
        if batch.split == TRAIN:
            yield batch.task, pairs
        else:
            key = batch.task, batch.split
            yield pvalue.TaggedOutput("tests", (key, pair_tables.pack(pairs)))


class Partition(beam.DoFn):
    """Tables of training text to buckets by source, with what else is asked of them:
    candidates for the held-out test set, and memberships of groups.

    A batch has few pairs for each of many buckets, so that many batches are
    partitioned together.

    Args:
      config: The step's configuration.
      buckets: All buckets, in the order their numbers follow.
    """

    def __init__(self, config: Config, buckets: Sequence[tuple[str, int]]):
        self._config = config
        self._numbers = {bucket: number for number, bucket in enumerate(buckets)}

    def start_bundle(self) -> None:
        self._waiting: dict[str, list[pa.Table]] = {}
        self._pairs = 0

    def process(self, element: tuple[str, pa.Table]) -> Iterator[pvalue.TaggedOutput]:
        task, pairs = element
        self._waiting.setdefault(task, []).append(pairs)
        self._pairs += len(pairs)
        if self._pairs >= _PAIRS_TOGETHER:
            yield from self._partition()

    def finish_bundle(self) -> Iterator[pvalue.TaggedOutput]:
        for output in self._partition():
            value = GlobalWindows.windowed_value(output.value)
            yield pvalue.TaggedOutput(output.tag, value)

    def _partition(self) -> Iterator[pvalue.TaggedOutput]:
        for task, waiting in self._waiting.items():
            pairs = pa.concat_tables(waiting).combine_chunks()
            keys = pair_tables.column(pairs, "source_key")
            buckets = splits.bucket_of(keys, self._config.shards)
            for index, part in _parted(pairs, buckets):
                yield pvalue.TaggedOutput(
                    TRAIN, ((task, index), pair_tables.pack(part))
                )
            if self._config.source == "text":
                some = splits.candidates(
                    pairs, self._config.test_sentences, self._config.test_share
                )
                packed = pair_tables.pack(pairs.take(some))
                yield pvalue.TaggedOutput("candidates", (task, packed))
            if self._config.duplicates.compared:
                yield from self._members(task, pairs, buckets)
        self.start_bundle()

    def _members(
        self, task: str, pairs: pa.Table, buckets: np.ndarray
    ) -> Iterator[pvalue.TaggedOutput]:
        numbers = (buckets + self._numbers[task, 0]).astype(np.uint64)
        for band, members in equivalent.memberships(
            pairs, numbers, task, self._config.duplicates, self._config.seed
        ):
            groups = members[equivalent.GROUP]
            where = splits.bucket_of(groups, self._config.shards)
            for index in np.unique(where).tolist():
                key = len(members), band, index
                columns = np.ascontiguousarray(members[:, where == index])
                yield pvalue.TaggedOutput("members", (key, columns.tobytes()))


class Losers(beam.DoFn):
    """The members of some groups to the places of those that lose, by bucket."""

    def __init__(self, config: Config, buckets: Sequence[tuple[str, int]]):
        self._config = config
        self._buckets = buckets

    def process(
        self, element: tuple[tuple[int, int, int], Iterable[bytes]]
    ) -> Iterator[tuple[tuple[str, int], tuple[str, bytes]]]:
        (width, _, _), parts = element
        columns = [np.frombuffer(part, np.uint64).reshape(width, -1) for part in parts]
        members = np.concatenate(columns, axis=1)
        rule, lost = equivalent.losers(members, self._config.duplicates)
        members = members[:, lost]
        for number in np.unique(members[equivalent.BUCKET]).tolist():
            there = members[equivalent.BUCKET] == number
            places = np.unique(members[equivalent.PLACE, there])
            yield self._buckets[number], (rule, places.tobytes())


class Smallest(beam.CombineFn):
    """Keeps the candidates for a held-out test set, whatever they come with."""

    def __init__(self, config: Config):
        self._limits = config.test_sentences, config.test_share

    def create_accumulator(self) -> bytes:
        return pair_tables.pack(pair_tables.ACCEPTED.empty_table())

    def add_input(self, accumulator: bytes, packed: bytes) -> bytes:
        return self.merge_accumulators([accumulator, packed])

    def merge_accumulators(self, accumulators: Iterable[bytes]) -> bytes:
        pairs = pair_tables.unpack(accumulators, pair_tables.ACCEPTED)
        return pair_tables.pack(pairs.take(splits.candidates(pairs, *self._limits)))

    def extract_output(self, accumulator: bytes) -> bytes:
        return accumulator


class GivenTests(beam.DoFn):
    """The parts of a test set to the whole: a named one in the order of its files and
    lines; a generated one by rising source key, without repeated sources."""

    def __init__(self, config: Config):
        self._config = config

    def process(
        self, element: tuple[tuple[str, str], Iterable[bytes]]
    ) -> Iterator[Any]:
        (task, split), parts = element
        pairs = pair_tables.unpack(parts, pair_tables.ACCEPTED).sort_by("place")
        if split == IN_DOMAIN:
            order = splits.candidates(pairs, None)
            rest = pairs.take(np.setdiff1d(np.arange(len(pairs)), order))
            yield from _rejected(task, rest, "repeated_source", self._config.shards)
            pairs = pairs.take(order)
        yield (task, split), pair_tables.pack(pairs)


class Separate(beam.DoFn):
    """Takes duplicates, what the test sets hold, and what would give it away out of
    a bucket of training pairs, and writes the rest."""

    def __init__(self, config: Config, sinks: Sinks):
        self._config = config
        self._sinks = sinks

    def process(
        self,
        element: tuple[tuple[str, int], Mapping[str, Iterable[Any]]],
        marks: Sequence[splits.Marks],
    ) -> Iterator[Any]:
        (task, index), found = element
        pairs = pair_tables.unpack(found["pairs"], pair_tables.ACCEPTED)
        losers: dict[str, list[np.ndarray]] = {}
        for rule, places in found.get("losers", ()):
            losers.setdefault(rule, []).append(np.frombuffer(places, np.uint64))
        together = {rule: np.concatenate(places) for rule, places in losers.items()}
        reasons = splits.reasons(pairs, together, marks, self._config)
        kept = np.flatnonzero(reasons == len(splits.REASONS))
        order = kept[np.argsort(pair_tables.column(pairs, "pair_key")[kept])]
        yield from self._sinks.train(task, index, pairs, order)
        for number, reason in enumerate(splits.REASONS):
            gone = np.flatnonzero(reasons == number)
            if reason != splits.TESTED and len(gone):
                yield from _rejected(
                    task, pairs.take(gone), reason, self._config.shards
                )


def held_out(task: str, packed: bytes) -> tuple[tuple[str, str], bytes]:
    """The held-out test set of a task; origins only where they tell some of its
    sentences from others.

    A set of one origin is reported whole, as it is where no origin is known, so that
    ``in_domain`` names the same thing for every task.
    """
    pairs = pair_tables.unpack([packed], pair_tables.ACCEPTED)
    known = [origin or MIXED for origin in pairs["origin"].to_pylist()]
    origins = known if len(set(known)) > 1 else [None] * len(known)
    at = pairs.schema.get_field_index("origin")
    pairs = pairs.set_column(
        at, pairs.schema.field(at), [pa.array(origins, pa.string())]
    )
    return (task, IN_DOMAIN), pair_tables.pack(pairs)


def _rejected(
    task: str, pairs: pa.Table, rule: str, shards: int
) -> Iterator[pvalue.TaggedOutput]:
    """Accepted pairs as dead letters of one rule."""
    columns = [*pairs.select(["place", "source", "target"]).columns]
    columns.insert(1, pa.array([rule]).take(np.zeros(len(pairs), np.int64)))
    yield from _dead_letters(task, pa.table(columns, pair_tables.REJECTED), shards)


def _dead_letters(
    task: str, letters: pa.Table, shards: int
) -> Iterator[pvalue.TaggedOutput]:
    """Dead letters by the shard that they go to."""
    where = dead_letter_shard(pair_tables.column(letters, "place"), shards)
    for index, part in _parted(letters, where):
        yield pvalue.TaggedOutput("rejected", ((task, index), pair_tables.pack(part)))


def _parted(table: pa.Table, where: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a table by number, int64 [n]: each number with its rows."""
    for number in np.unique(where).tolist():
        yield number, table.take(np.flatnonzero(where == number))
