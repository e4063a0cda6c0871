"""The Beam graph of ``ingest``.

    inputs - Read - Clean -+- train pairs - Deduplicate -+- Separate - train shards
                           |                             |     ^
                           |                  candidates |     | test keys
                           |                             v     |
                           +- generated test pairs --- Choose -+- in_domain
                           +- named test sets -----------------+- test sets
                           +- rejected - dead letters (of every step)

Blocks of pairs travel, not pairs. A bucket holds every pair of its sources, so
one ``GroupByKey`` finds repeated pairs and repeated sources alike. Each sink
counts what it wrote, and the step compares that with what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from components.ingest import splits
from components.ingest.block import Block, Letters
from components.ingest.cleaning import clean, rejections
from components.ingest.config import Config
from components.ingest.inputs import SyntheticInput, TextInput
from components.ingest.lines import Batch, read_synthetic, read_text
from components.ingest.sinks import READ, Sinks, bucket, write_report
from components.text_shards import IN_DOMAIN, TRAIN
from models.errors import UserError

Marks = tuple[np.ndarray, np.ndarray]


def build(
    pipeline: beam.Pipeline,
    config: Config,
    inputs: Sequence[TextInput] | Sequence[SyntheticInput],
    output: str,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      inputs: What to read.
      output: Folder that the shards, dead letters and the report go to.
    """
    sinks = Sinks(output, tuple(inputs), config.shards)
    tasks = sorted({entry.task for entry in inputs})
    buckets = [bucket(task, i) for task in tasks for i in range(config.shards)]
    read = (
        pipeline
        | "Inputs" >> beam.Create(list(enumerate(inputs)))
        | "Spread" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(Read(config)).with_outputs("problems", main="batches")
    )
    cleaned = read.batches | "Clean" >> beam.ParDo(Clean(config)).with_outputs(
        TRAIN, IN_DOMAIN, "named", "rejected", "counts"
    )
    no_pairs = pipeline | "No pairs" >> beam.Create(
        [(b, Block.empty()) for b in buckets]
    )
    unique = (
        (cleaned[TRAIN], no_pairs)
        | "Pairs" >> beam.Flatten()
        | "By source" >> beam.GroupByKey()
        | beam.ParDo(Deduplicate(config)).with_outputs(
            "pairs", "candidates", "rejected"
        )
    )
    chosen = (
        (cleaned[IN_DOMAIN], unique.candidates)
        | "Candidates" >> beam.Flatten()
        | "By task" >> beam.GroupByKey()
        | beam.ParDo(Choose(config)).with_outputs("tests", "rejected")
    )
    named = (
        cleaned.named
        | "By test set" >> beam.GroupByKey()
        | "In file order" >> beam.MapTuple(in_file_order)
    )
    tests = (chosen.tests, named) | "Tests" >> beam.Flatten()
    marks = pvalue.AsList(tests | "Mark" >> beam.MapTuple(_marks))
    separate = beam.ParDo(Separate(config), marks)
    separated = unique.pairs | separate.with_outputs(TRAIN, "rejected")
    counts = (
        cleaned.counts,
        tests | "Write tests" >> beam.MapTuple(sinks.test),
        separated[TRAIN] | "Write train" >> beam.MapTuple(sinks.train),
        _write_dead_letters(
            pipeline,
            sinks,
            buckets,
            (cleaned.rejected, unique.rejected, chosen.rejected, separated.rejected),
        ),
    ) | "Counts" >> beam.Flatten()
    totals = counts | "Totals" >> beam.CombinePerKey(sum)
    _ = (
        pipeline
        | "Output" >> beam.Create([output])
        | "Report"
        >> beam.Map(write_report, pvalue.AsList(totals), pvalue.AsList(read.problems))
    )


def _write_dead_letters(
    pipeline: beam.Pipeline,
    sinks: Sinks,
    buckets: Sequence[str],
    rejected: Sequence[beam.PCollection],
) -> beam.PCollection:
    none = pipeline | "No letters" >> beam.Create([(b, Letters([])) for b in buckets])
    letters = (
        rejected
        | "Rejected" >> beam.Flatten()
        | "To buckets" >> beam.FlatMapTuple(sinks.dead_letter_buckets)
    )
    return (
        (letters, none)
        | "Letters" >> beam.Flatten()
        | "By place" >> beam.GroupByKey()
        | "Write dead letters" >> beam.FlatMapTuple(sinks.dead_letters)
    )


class Read(beam.DoFn):
    """An input to batches; an input that cannot be read, to a problem."""

    def __init__(self, config: Config):
        self._config = config

    def process(
        self, numbered: tuple[int, TextInput | SyntheticInput]
    ) -> Iterator[Batch | pvalue.TaggedOutput]:
        number, entry = numbered
        try:
            if isinstance(entry, SyntheticInput):
                yield from read_synthetic(self._config.synthetic, entry, number)
            else:
                yield from read_text(entry, number)
        except UserError as error:
            yield pvalue.TaggedOutput("problems", str(error))


class Clean(beam.DoFn):
    """A batch to blocks by bucket; named test sets keep every pair with text."""

    def __init__(self, config: Config):
        self._config = config
        self._rules = config.rules.active()

    def process(self, batch: Batch) -> Iterator[pvalue.TaggedOutput]:
        own = batch.split in (TRAIN, IN_DOMAIN)
        block, rejected = clean(batch, self._rules if own else (), self._config.seed)
        counted = (batch.task, batch.split, READ), len(batch.sources)
        yield pvalue.TaggedOutput("counts", counted)
        if rejected.pairs:
            yield pvalue.TaggedOutput("rejected", (batch.task, rejected))
        if batch.split == IN_DOMAIN:
            yield pvalue.TaggedOutput(IN_DOMAIN, (batch.task, block))
        elif not own:
            key = f"{batch.task}/{batch.split}"
            yield pvalue.TaggedOutput("named", (key, block))
        else:
            buckets = splits.bucket_of(block.source_keys, self._config.shards)
            for index in np.unique(buckets).tolist():
                part = block.take(buckets == index)
                yield pvalue.TaggedOutput(TRAIN, (bucket(batch.task, index), part))


class Deduplicate(beam.DoFn):
    """A bucket's blocks to one block of distinct pairs and its test candidates."""

    def __init__(self, config: Config):
        self._config = config

    def process(
        self, element: tuple[str, Iterable[Block]]
    ) -> Iterator[pvalue.TaggedOutput]:
        key, blocks = element
        task = key.rpartition("/")[0]
        pairs, repeated = splits.first_of_each_pair(Block.concatenate(list(blocks)))
        yield pvalue.TaggedOutput("pairs", (key, pairs))
        if len(repeated):
            letters = rejections(repeated, "duplicate")
            yield pvalue.TaggedOutput("rejected", (task, letters))
        if self._config.source == "text":
            candidates = splits.held_out_candidates(
                pairs, self._config.test_sentences, self._config.test_share
            )
            yield pvalue.TaggedOutput("candidates", (task, candidates))


class Choose(beam.DoFn):
    """A task's candidates to its ``in_domain`` test set, by rising source key.

    Candidates from training text that are not chosen stay there; pairs that were
    generated for the test set and repeat a source go to the dead letters.
    """

    def __init__(self, config: Config):
        self._config = config

    def process(
        self, element: tuple[str, Iterable[Block]]
    ) -> Iterator[pvalue.TaggedOutput]:
        task, blocks = element
        candidates = Block.concatenate(list(blocks))
        limit, share = self._config.test_sentences, self._config.test_share
        if self._config.source == "synthetic":
            limit, share = len(candidates), None
        chosen = splits.held_out_candidates(candidates, limit, share)
        yield pvalue.TaggedOutput("tests", (f"{task}/{IN_DOMAIN}", chosen))
        if self._config.source == "synthetic":
            left = candidates.take(~np.isin(candidates.places, chosen.places))
            letters = rejections(left, "repeated_source")
            yield pvalue.TaggedOutput("rejected", (task, letters))


class Separate(beam.DoFn):
    """Takes what the test sets hold, and what shares a side with them, out of a
    bucket of training pairs."""

    def __init__(self, config: Config):
        self._share = config.test_share

    def process(
        self, element: tuple[str, Block], marks: Sequence[Marks]
    ) -> Iterator[pvalue.TaggedOutput]:
        key, block = element
        task = key.rpartition("/")[0]
        test_keys = np.concatenate([keys for keys, _ in marks])
        test_places = np.concatenate([places for _, places in marks])
        block = block.take(~np.isin(block.places, test_places))
        shared = splits.sharing_a_side(block, test_keys)
        held_out = np.zeros(len(block), bool)
        if self._share is not None:
            held_out = splits.below(block.source_keys, self._share) & ~shared
        for rule, where in (("overlaps_test", shared), ("held_out", held_out)):
            if where.any():
                letters = rejections(block, rule, where)
                yield pvalue.TaggedOutput("rejected", (task, letters))
        yield pvalue.TaggedOutput(TRAIN, (key, block.take(~(shared | held_out))))


def in_file_order(key: str, blocks: Iterable[Block]) -> tuple[str, Block]:
    """A named test set, whole, in the order of its files and lines."""
    block = Block.concatenate(list(blocks))
    return key, block.take(np.argsort(block.places, kind="stable"))


def _marks(key: str, tests: Block) -> Marks:
    """The keys of both sides of a test set, and the places of its pairs."""
    return np.concatenate([tests.source_keys, tests.target_keys]), tests.places
