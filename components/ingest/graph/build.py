"""The Beam graph of ``ingest``.

    inputs - Read - Clean -+- training text - Partition -+- pairs by bucket --------- Separate - train shards
                           |                             +- members - Losers ----------^  ^ keys of all tests
                           |                             +- candidates - Held out -+      |
                           +- test sets - Given tests -----------------------------+------+----- test shards
                           +- rejected (here and later) - dead letters
    inputs - Check - report

Text travels as Arrow tables (`components.ingest.pair_tables`) and is shuffled once, by
bucket of its source: a bucket holds every pair of its sources, so that one
``GroupByKey`` finds repeated pairs, and is a shard of the training data. Dead letters
are shuffled once more. Of what is compared between buckets only keys travel. Each
sink counts what it wrote, and the step compares that with what was read.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from components.artifacts.text_shards import TRAIN
from components.ingest.config import Config
from components.ingest.graph import stages
from components.ingest.graph.measures import smallest
from components.ingest.graph.sinks import SAMPLES, Sinks, write_report
from components.ingest.graph.splits import marks_of
from components.ingest.sources.inputs import TextInput


def build(
    pipeline: beam.Pipeline,
    config: Config,
    inputs: Sequence[Any],
    output: str,
    workers: int = 1,
) -> None:
    """Adds the whole step to a pipeline.

    Args:
      pipeline: An empty pipeline.
      config: The step's configuration.
      inputs: What to read.
      output: Folder that the shards, dead letters and the report go to.
      workers: Workers that share the batches of each input; the result does not
        depend on it.
    """
    sinks = Sinks(output, tuple(inputs), config.shards, config.seed)
    tasks = sorted({entry.task for entry in inputs})
    buckets = [(task, i) for task in tasks for i in range(config.shards)]
    parts = (
        pipeline
        | "Inputs" >> beam.Create(list(enumerate(inputs)))
        | beam.ParDo(stages.Parts(workers)).with_outputs("problems", main="parts")
    )
    read = (
        parts.parts
        | "Spread" >> beam.Reshuffle()
        | beam.ParDo(stages.Read(config)).with_outputs("problems", main="batches")
    )
    cleaned = read.batches | beam.ParDo(stages.Clean(config)).with_outputs(
        "tests", "rejected", "counts", main=TRAIN
    )
    parted = cleaned[TRAIN] | beam.ParDo(
        stages.Partition(config, buckets)
    ).with_outputs(TRAIN, "candidates", "members")
    tests, repeated = _test_sets(config, cleaned.tests, parted.candidates)
    marks = tests | "Marks" >> beam.Values() | beam.Map(marks_of, config=config)
    separated = _by_bucket(pipeline, config, buckets, parted) | beam.ParDo(
        stages.Separate(config, sinks), pvalue.AsList(marks)
    ).with_outputs("rejected", SAMPLES, main="counts")
    written_tests = tests | "Write tests" >> beam.FlatMapTuple(sinks.test)
    rejected = cleaned.rejected, repeated, separated.rejected
    letters = (
        (*rejected, pipeline | "No letters" >> _nothing(buckets))
        | "Letters" >> beam.Flatten()
        | "By place" >> beam.GroupByKey()
        | "Write dead letters"
        >> beam.FlatMapTuple(sinks.dead_letters).with_outputs(SAMPLES, main="counts")
    )
    checks = (
        pipeline
        | "Text" >> beam.Create([e for e in inputs if isinstance(e, TextInput)])
        | "Spread checks" >> beam.Reshuffle()
        | "Check" >> beam.FlatMap(stages.checked)
    )
    counts = cleaned.counts, separated.counts, written_tests, letters.counts
    samples = separated[SAMPLES], letters[SAMPLES]
    problems = parts.problems, read.problems
    _report(pipeline, output, counts, samples, problems, checks)


def _test_sets(
    config: Config, given: beam.PCollection, candidates: beam.PCollection
) -> tuple[beam.PCollection, beam.PCollection]:
    """Every test set, whole, and the dead letters of those that were given."""
    named = (
        given
        | "By test set" >> beam.GroupByKey()
        | beam.ParDo(stages.GivenTests(config)).with_outputs("rejected", main="tests")
    )
    held_out = (
        candidates
        | "Held out" >> beam.CombinePerKey(stages.Smallest(config))
        | "Origins" >> beam.MapTuple(stages.held_out)
    )
    return (named.tests, held_out) | "Tests" >> beam.Flatten(), named.rejected


def _nothing(buckets: Sequence[tuple[str, int]]) -> beam.Create:
    """An empty part for every bucket, so that every shard is written."""
    return beam.Create([(bucket, b"") for bucket in buckets])


def _by_bucket(
    pipeline: beam.Pipeline,
    config: Config,
    buckets: Sequence[tuple[str, int]],
    parted: pvalue.DoOutputsTuple,
) -> beam.PCollection:
    """The parts of each bucket, and the places of its pairs that lose elsewhere."""
    parts = [parted[TRAIN], pipeline | "No pairs" >> _nothing(buckets)]
    joined = {"pairs": parts | "Pairs" >> beam.Flatten()}
    if config.duplicates.compared:
        joined["losers"] = (
            parted.members
            | "By group" >> beam.GroupByKey()
            | beam.ParDo(stages.Losers(config, buckets))
        )
    return joined | "By bucket" >> beam.CoGroupByKey()


def _report(
    pipeline: beam.Pipeline,
    output: str,
    counts: Sequence[beam.PCollection],
    samples: Sequence[beam.PCollection],
    problems: Sequence[beam.PCollection],
    checks: beam.PCollection,
) -> None:
    totals = counts | "Counts" >> beam.Flatten() | "Totals" >> beam.CombinePerKey(sum)
    drawn = samples | "Samples" >> beam.Flatten() | beam.CombinePerKey(smallest)
    said = problems | "Problems" >> beam.Flatten()
    output_path = pipeline | "Output" >> beam.Create([output])
    _ = output_path | "Report" >> beam.Map(
        write_report,
        pvalue.AsList(totals),
        pvalue.AsList(drawn),
        pvalue.AsList(said),
        pvalue.AsList(checks),
    )
