"""The first steps of the Beam graph of ``ingest``: from inputs to batches of pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from components.ingest.batch import Batch
from components.ingest.config import Config
from components.ingest.sources.inputs import SyntheticInput, TextInput
from components.ingest.sources.reading import parts, read
from models.errors import UserError


class Part(NamedTuple):
    """Every ``step``-th batch of an input from the ``first`` on."""

    number: int
    entry: TextInput | SyntheticInput
    first: int
    step: int


class Parts(beam.DoFn):
    """An input to the parts of it that can be read by different workers.

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
    """A part of an input to batches; one that cannot be read, to a problem."""

    def __init__(self, config: Config):
        self._config = config

    def process(self, part: Part) -> Iterator[Batch | pvalue.TaggedOutput]:
        try:
            batches = read(part.entry, part.number, self._config.synthetic)
            yield from itertools.islice(batches, part.first, None, part.step)
        except UserError as error:
            yield pvalue.TaggedOutput("problems", str(error))
