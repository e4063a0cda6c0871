"""The steps of the Beam graph of ``ingest``: what each does to a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from components.ingest import splits
from components.ingest.batch import Batch
from components.ingest.block import Block
from components.ingest.cleaning import clean, rejections
from components.ingest.config import Config
from components.ingest.inputs import SyntheticInput, TextInput
from components.ingest.keys import sentence_keys
from components.ingest.layout import READ
from components.ingest.lines import read_synthetic, read_text
from components.ingest.sinks import bucket
from components.text_shards import IN_DOMAIN, TRAIN
from models.errors import UserError

Marks = tuple[np.ndarray, np.ndarray]


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


def marks_of(element: tuple[str, Block], seed: int) -> Marks:
    """The keys of both sides of a test set, every reference of them, and the places
    of its pairs."""
    _, tests = element
    known = [details for details in tests.details if details]
    further = [text for details in known for text in details.get("references", ())[1:]]
    keys = tests.source_keys, tests.target_keys, sentence_keys(further, seed)
    return np.concatenate(keys), tests.places
