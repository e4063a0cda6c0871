"""The steps of the Beam graph of ``ingest``: what each does to a block."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from components.artifacts.origins import MIXED
from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest import duplicates, near, spill, splits
from components.ingest.batch import Batch
from components.ingest.block import Block
from components.ingest.cleaning.clean import clean, rejections
from components.ingest.config import Config
from components.ingest.connected import Connected, connect
from components.ingest.fates import TESTED, Fates
from components.ingest.keys import comparable, sentence_keys
from components.ingest.layout import READ
from components.ingest.resemblance import Resemblance
from components.ingest.sinks import (
    Sinks,
    bucket,
    dead_letter_bucket,
    dead_letter_buckets,
    parse_bucket,
)


class Clean(beam.DoFn):
    """A batch to parts of a scratch file by bucket; named test sets keep every pair
    with text, and travel as they are.

    Args:
      config: The step's configuration.
      tasks: All tasks, in the order their numbers follow.
      scratch: Folder of the scratch files.
    """

    def __init__(self, config: Config, tasks: Sequence[str], scratch: str):
        self._config = config
        self._rules = config.rules
        if config.source == "synthetic":
            self._rules = config.rules.of_invented_languages()
        self._tasks = list(tasks)
        self._scratch = scratch

    def start_bundle(self) -> None:
        self._writer = spill.Writer(self._scratch)

    def finish_bundle(self) -> None:
        self._writer.close()

    def process(self, batch: Batch) -> Iterator[pvalue.TaggedOutput]:
        own = batch.split in (TRAIN, IN_DOMAIN)
        rules = self._rules if own else None
        block, letters = clean(batch, rules, self._config.seed)
        counted = (batch.task, batch.split, READ), len(batch.sources)
        yield pvalue.TaggedOutput("counts", counted)
        for index, part in dead_letter_buckets(letters, self._config.shards):
            ref = self._writer.write(spill.pack_letters(part))
            yield pvalue.TaggedOutput("rejected", (bucket(batch.task, index), ref))
        if batch.split == IN_DOMAIN:
            yield pvalue.TaggedOutput(IN_DOMAIN, (batch.task, block))
        elif not own:
            key = f"{batch.task}/{batch.split}"
            yield pvalue.TaggedOutput("named", (key, block))
        elif len(block):
            yield from self._train(batch.task, block)

    def _train(self, task: str, block: Block) -> Iterator[pvalue.TaggedOutput]:
        shards = self._config.shards
        buckets = splits.bucket_of(block.source_keys, shards)
        for index in np.unique(buckets).tolist():
            part = spill.pack_block(block.take(buckets == index))
            ref = self._writer.write(part)
            yield pvalue.TaggedOutput(TRAIN, (bucket(task, index), ref))
        if not self._config.duplicates.claimed:
            return
        homes = duplicates.home_of(self._tasks.index(task), buckets)
        told = duplicates.claims(
            block, homes, task, self._config.duplicates, self._config.seed
        )
        for band, columns in told:
            where = splits.bucket_of(columns[duplicates.GROUP], shards)
            for index in np.unique(where).tolist():
                ref = self._writer.write(spill.bare(columns[:, where == index]))
                key = len(columns), band, index
                yield pvalue.TaggedOutput("claims", (key, ref))


class Settle(beam.DoFn):
    """The claims of some groups to the pairs that lose, by their bucket."""

    def __init__(self, config: Config, tasks: Sequence[str]):
        self._config = config
        self._tasks = list(tasks)

    def process(
        self, element: tuple[tuple[int, int, int], Iterable[spill.Ref]]
    ) -> Iterator[tuple[str, duplicates.Drops]]:
        (width, _, _), refs = element
        columns = spill.read_columns(list(refs), width)
        sketched = width > duplicates.HOME + 1
        similarity = self._config.duplicates.similarity if sketched else None
        lost = columns[:, duplicates.settle(columns, similarity)]
        rule = duplicates.NEAR if sketched else duplicates.EQUIVALENT
        for home in np.unique(lost[duplicates.HOME]).tolist():
            places = lost[duplicates.PLACE, lost[duplicates.HOME] == home]
            key = bucket(self._tasks[home >> 32], home & 0xFFFFFFFF)
            yield key, duplicates.Drops(np.unique(places), rule)


class Connect(beam.DoFn):
    """All pairs to the components of their sentences, on disk."""

    def __init__(self, scratch: str):
        self._scratch = scratch

    def process(self, element: tuple[None, Iterable[spill.Ref]]) -> Iterator[spill.Ref]:
        _, refs = element
        found = connect(*spill.read_columns(list(refs), 2))
        writer = spill.Writer(self._scratch)
        columns = np.empty((3, len(found.nodes)), np.uint64)
        columns[:] = found.nodes, found.labels, found.sizes
        yield writer.write(spill.bare(columns))
        writer.close()


class Deduplicate(beam.DoFn):
    """A bucket's parts to what becomes of each pair, and to test candidates."""

    def __init__(self, config: Config):
        self._config = config
        self._linked = Linked()

    def process(
        self,
        element: tuple[str, Iterable[spill.Ref | duplicates.Drops]],
        linked: Sequence[spill.Ref],
    ) -> Iterator[pvalue.TaggedOutput]:
        key, parts = element
        parts = list(parts)
        refs = sorted(part for part in parts if isinstance(part, spill.Ref))
        keys = spill.read_columns(refs, 4)
        fates = Fates.none(len(keys[0]))
        repeated = splits.repetitions(keys[spill.PAIR_KEYS], keys[spill.PLACES])
        fates.give("duplicate", repeated)
        # A pair may be dropped for both rules, and drops arrive in any order.
        drops = [part for part in parts if isinstance(part, duplicates.Drops)]
        for drop in sorted(drops, key=lambda drop: drop.rule):
            fates.give(drop.rule, np.isin(keys[spill.PLACES], drop.places))
        yield pvalue.TaggedOutput("fates", (key, refs, fates))
        if self._config.source == "text":
            connected = self._linked.load(linked)
            block = self._candidates(refs, keys, fates, connected)
            task = key.rpartition("/")[0]
            yield pvalue.TaggedOutput("candidates", (task, block))

    def _candidates(
        self,
        refs: Sequence[spill.Ref],
        keys: np.ndarray,
        fates: Fates,
        connected: Connected,
    ) -> Block:
        sizes = connected.of(keys[spill.SOURCE_KEYS])[1]
        there = np.flatnonzero(fates.open & (sizes <= self._config.largest_component))
        chosen = splits.candidates(
            keys[spill.SOURCE_KEYS, there],
            keys[spill.PAIR_KEYS, there],
            self._config.test_sentences,
            self._config.test_share,
        )
        return spill.unpack_block(spill.read(refs), there[chosen])


class Choose(beam.DoFn):
    """A task's candidates to its ``in_domain`` test set, by rising source key.

    Candidates from training text that are not chosen stay there; pairs that were
    generated for the test set and repeat a source go to the dead letters.
    """

    def __init__(self, config: Config, scratch: str):
        self._config = config
        self._scratch = scratch

    def process(
        self, element: tuple[str, Iterable[Block]]
    ) -> Iterator[pvalue.TaggedOutput]:
        task, blocks = element
        block = Block.concatenate(list(blocks))
        limit, share = self._config.test_sentences, self._config.test_share
        if self._config.source == "synthetic":
            limit, share = len(block), None
        order = splits.candidates(block.source_keys, block.pair_keys, limit, share)
        tests = block.take(order)
        tests = dataclasses.replace(tests, origins=both_origins(tests.origins))
        yield pvalue.TaggedOutput("tests", (f"{task}/{IN_DOMAIN}", tests))
        if self._config.source == "synthetic":
            left = np.ones(len(block), bool)
            left[order] = False
            letters = rejections(block.take(left), "repeated_source")
            writer = spill.Writer(self._scratch)
            for index, part in dead_letter_buckets(letters, self._config.shards):
                ref = writer.write(spill.pack_letters(part))
                yield pvalue.TaggedOutput("rejected", (bucket(task, index), ref))
            writer.close()


class Separate(beam.DoFn):
    """Takes what the test sets hold, and what would show it, out of a bucket of
    training pairs, and writes the rest."""

    def __init__(self, config: Config, sinks: Sinks, scratch: str):
        self._config = config
        self._sinks = sinks
        self._scratch = scratch
        self._linked = Linked()

    def start_bundle(self) -> None:
        self._writer = spill.Writer(self._scratch)

    def finish_bundle(self) -> None:
        self._writer.close()

    def process(
        self,
        element: tuple[str, Sequence[spill.Ref], Fates],
        marks: Sequence[splits.Marks],
        linked: Sequence[spill.Ref],
    ) -> Iterator[pvalue.TaggedOutput]:
        key, refs, fates = element
        connected = self._linked.load(linked)
        guard = splits.collect(marks, connected, self._config.largest_component)
        packed = spill.read(refs)
        columns, fates = packed.columns, fates.copy()
        tested = np.isin(columns[spill.PLACES], guard.places)
        fates.give(TESTED, tested)
        ends = columns[spill.SOURCE_KEYS], columns[spill.TARGET_KEYS]
        fates.give("overlaps_test", splits.leaking(*ends, guard, connected))
        if (similarity := self._config.duplicates.similarity) is not None:
            signatures = np.concatenate([one.signatures for one in marks])
            tests = Resemblance.of(signatures, similarity, self._config.seed)
            alike = tests.shown_by(packed, np.flatnonzero(fates.open))
            fates.give("resembles_test", alike)
        if self._config.test_share is not None:
            below = splits.below(ends[0], self._config.test_share)
            fates.give("held_out", below)
        kept = np.flatnonzero(fates.open)
        order = kept[np.argsort(columns[spill.PAIR_KEYS, kept])]
        for counted in self._sinks.train(key, packed, order):
            yield pvalue.TaggedOutput("written", counted)
        yield from self._reject(key, packed, fates)

    def _reject(
        self, key: str, packed: spill.Packed, fates: Fates
    ) -> Iterator[pvalue.TaggedOutput]:
        task = parse_bucket(key)[0]
        gone = np.flatnonzero(fates.rejected)
        places = packed.columns[spill.PLACES, gone]
        shelves = dead_letter_bucket(*spill.unplaced(places), self._config.shards)
        for index in np.unique(shelves).tolist():
            there = shelves == index
            part = packed.take(gone[there], places[None, there])
            rules = fates.rules(gone[there])
            ref = self._writer.write(dataclasses.replace(part, extras=rules))
            yield pvalue.TaggedOutput("rejected", (bucket(task, index), ref))


class Linked:
    """The components of the training text, read from disk once a worker."""

    _ref: spill.Ref | None = None
    _connected = Connected.none()

    def load(self, refs: Sequence[spill.Ref]) -> Connected:
        """The components that the one reference, if there is one, stands for."""
        if refs and refs[0] != self._ref:
            nodes, labels, sizes = spill.read_columns(refs, 3)
            narrow = labels.astype(np.int32), sizes.astype(np.int32)
            self._connected = Connected(nodes.copy(), *narrow)
            self._ref = refs[0]
        return self._connected


def in_file_order(key: str, blocks: Iterable[Block]) -> tuple[str, Block]:
    """A named test set, whole, in the order of its files and lines."""
    block = Block.concatenate(list(blocks))
    return key, block.take(np.argsort(block.places, kind="stable"))


def both_origins(found: Sequence[str]) -> list[str]:
    """The origin of each held-out sentence, where it tells some from others.

    Example:
      >>> both_origins(["source", "", "target"]), both_origins(["source", "source"])
      (['source', 'mixed', 'target'], ['', ''])

    A set of one origin is reported whole, as it is where no origin is known, so that
    ``in_domain`` names the same thing for every task.
    """
    known = [origin or MIXED for origin in found]
    return known if len(set(known)) > 1 else [""] * len(known)


def marks_of(element: tuple[str, Block], config: Config) -> splits.Marks:
    """What a test set is known by: both sides, every reference, and its places."""
    _, tests = element
    known = [details for details in tests.details if details]
    further = [text for details in known for text in details.get("references", ())[1:]]
    keys = tests.source_keys, tests.target_keys, sentence_keys(further, config.seed)
    texts: list[str] = []
    if config.duplicates.similarity is not None:
        texts = comparable([*tests.sources, *tests.targets, *further])
    signatures = near.signatures(texts, config.seed)
    return splits.Marks(np.concatenate(keys), tests.places, signatures)
