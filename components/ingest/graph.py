"""The Beam graph of ``ingest``.

    inputs - Read - Clean -+- train pairs -+---------------- Deduplicate -+- Separate - train shards
                           |               +- Connect ------------^  |    |    ^
                           |               +- claims - Settle -----^  |   |    | test keys
                           |                              candidates |   |    |
                           +- generated test pairs ----------------- Choose --+- in_domain
                           +- named test sets --------------------------------+- test sets
                           +- rejected - dead letters (of every step)

Text does not travel: the pairs of a batch go to a scratch file by bucket, and the
graph groups references to its parts (`components.ingest.spill`). A bucket holds
every pair of its sources, so one ``GroupByKey`` finds repeated pairs and repeated
sources alike. Each sink counts what it wrote, and the step compares that with
what was read.
"""  # noqa: E501

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io.filesystems import FileSystems

from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest import card
from components.ingest.config import Config
from components.ingest.layout import SCRATCH
from components.ingest.read_stages import Parts, Read
from components.ingest.sinks import Sinks, bucket, write_report
from components.ingest.stages import (
    Choose,
    Clean,
    Connect,
    Deduplicate,
    Separate,
    Settle,
    in_file_order,
    marks_of,
)


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
    scratch = FileSystems.join(output, SCRATCH)
    tasks = sorted({entry.task for entry in inputs})
    buckets = [bucket(task, i) for task in tasks for i in range(config.shards)]
    listed = (
        pipeline
        | "Inputs" >> beam.Create(list(enumerate(inputs)))
        | beam.ParDo(Parts(workers)).with_outputs("problems", main="parts")
    )
    read = (
        listed.parts
        | "Spread" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(Read(config)).with_outputs("problems", main="batches")
    )
    cleaned = read.batches | "Clean" >> beam.ParDo(
        Clean(config, tasks, scratch)
    ).with_outputs(TRAIN, IN_DOMAIN, "named", "claims", "rejected", "counts")
    linked = pvalue.AsList(_connect(pipeline, config, cleaned[TRAIN], scratch))
    unique = _deduplicate(pipeline, config, tasks, buckets, cleaned, linked)
    chosen = (
        (cleaned[IN_DOMAIN], unique.candidates)
        | "Candidates" >> beam.Flatten()
        | "By task" >> beam.GroupByKey()
        | beam.ParDo(Choose(config, scratch)).with_outputs("tests", "rejected")
    )
    named = (
        cleaned.named
        | "By test set" >> beam.GroupByKey()
        | "In file order" >> beam.MapTuple(in_file_order)
    )
    tests = (chosen.tests, named) | "Tests" >> beam.Flatten()
    marks = pvalue.AsList(tests | "Mark" >> beam.Map(marks_of, config=config))
    separate = beam.ParDo(Separate(config, sinks, scratch), marks, linked)
    separated = unique.fates | separate.with_outputs("written", "rejected")
    rejected = cleaned.rejected, chosen.rejected, separated.rejected
    written = (
        tests | "Write tests" >> beam.FlatMapTuple(sinks.test),
        separated.written,
        _write_dead_letters(pipeline, sinks, buckets, rejected),
    ) | "Written" >> beam.Flatten()
    problems = (listed.problems, read.problems) | "Problems" >> beam.Flatten()
    _report(pipeline, output, problems, cleaned.counts, written)


def _connect(
    pipeline: beam.Pipeline, config: Config, train: beam.PCollection, scratch: str
) -> beam.PCollection:
    """The components of the training text, or nothing where they do not count."""
    if config.leak == "sentence" or config.source == "synthetic":
        return pipeline | "No components" >> beam.Create([])
    return (
        train
        | "All parts" >> beam.MapTuple(lambda bucket, ref: (None, ref))
        | "Together" >> beam.GroupByKey()
        | "Connect" >> beam.ParDo(Connect(scratch))
    )


def _deduplicate(
    pipeline: beam.Pipeline,
    config: Config,
    tasks: Sequence[str],
    buckets: Sequence[str],
    cleaned: pvalue.DoOutputsTuple,
    linked: pvalue.AsList,
) -> pvalue.DoOutputsTuple:
    """Every bucket, also one without pairs, so that every shard is written."""
    parts = [
        cleaned[TRAIN],
        pipeline | "No pairs" >> beam.Create([(name, None) for name in buckets]),
    ]
    if config.duplicates.claimed:
        lost = (
            cleaned.claims
            | "By group" >> beam.GroupByKey()
            | "Settle" >> beam.ParDo(Settle(config, tasks))
        )
        parts.append(lost)
    return (
        parts
        | "Pairs" >> beam.Flatten()
        | "By source" >> beam.GroupByKey()
        | beam.ParDo(Deduplicate(config), linked).with_outputs("fates", "candidates")
    )


def _write_dead_letters(
    pipeline: beam.Pipeline,
    sinks: Sinks,
    buckets: Sequence[str],
    rejected: Sequence[beam.PCollection],
) -> beam.PCollection:
    """Dead letters of every step, by task and place."""
    none = pipeline | "No letters" >> beam.Create([(name, None) for name in buckets])
    return (
        (*rejected, none)
        | "Letters" >> beam.Flatten()
        | "By place" >> beam.GroupByKey()
        | "Write dead letters" >> beam.FlatMapTuple(sinks.dead_letters)
    )


def _report(
    pipeline: beam.Pipeline,
    output: str,
    problems: beam.PCollection,
    counts: beam.PCollection,
    written: beam.PCollection,
) -> None:
    told = written | "Tell apart" >> beam.Partition(_is_sample, 2)
    totals = (counts, told[0]) | "Counts" >> beam.Flatten() | beam.CombinePerKey(sum)
    samples = told[1] | "Samples" >> beam.CombinePerKey(_smallest)
    _ = (
        pipeline
        | "Output" >> beam.Create([output])
        | "Report"
        >> beam.Map(
            write_report,
            pvalue.AsList(totals),
            pvalue.AsList(samples),
            pvalue.AsList(problems),
        )
    )


def _is_sample(told: tuple[Any, int | list], partitions: int) -> int:
    return int(isinstance(told[1], list))


def _smallest(drawn: Iterable[list[tuple[int, str, str]]]) -> list:
    """The sample that all parts together give."""
    return heapq.nsmallest(card.SAMPLES, itertools.chain.from_iterable(drawn))
