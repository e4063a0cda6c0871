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

from collections.abc import Sequence

import apache_beam as beam
from apache_beam import pvalue

from components.ingest.block import Block, Letters
from components.ingest.config import Config
from components.ingest.inputs import SyntheticInput, TextInput
from components.ingest.sinks import Sinks, bucket, write_report
from components.ingest.stages import (
    Choose,
    Clean,
    Deduplicate,
    Read,
    Separate,
    in_file_order,
    marks_of,
)
from components.text_shards import IN_DOMAIN, TRAIN


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
    unique = _deduplicate(pipeline, config, cleaned[TRAIN], buckets)
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
    marks = pvalue.AsList(tests | "Mark" >> beam.Map(marks_of, config.seed))
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


def _deduplicate(
    pipeline: beam.Pipeline,
    config: Config,
    pairs: beam.PCollection,
    buckets: Sequence[str],
) -> pvalue.DoOutputsTuple:
    """Every bucket, also one without pairs, so that every shard is written."""
    no_pairs = pipeline | "No pairs" >> beam.Create(
        [(b, Block.empty()) for b in buckets]
    )
    return (
        (pairs, no_pairs)
        | "Pairs" >> beam.Flatten()
        | "By source" >> beam.GroupByKey()
        | beam.ParDo(Deduplicate(config)).with_outputs(
            "pairs", "candidates", "rejected"
        )
    )


def _write_dead_letters(
    pipeline: beam.Pipeline,
    sinks: Sinks,
    buckets: Sequence[str],
    rejected: Sequence[beam.PCollection],
) -> beam.PCollection:
    """Dead letters of every step, by task and place; returns their counts."""
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
