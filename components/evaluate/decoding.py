"""Translates any number of sentences with one trained model.

Example:
  >>> translator = Translator(model, SearchOptions(beams=4))  # doctest: +SKIP
  >>> best = translator.translate_ids([[5, 9, 1], [7, 1]])[0][0]  # doctest: +SKIP
  >>> best.ids, best.score  # doctest: +SKIP
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf

from components.engines.cores import available_cores
from components.evaluate.seats import Batch, Program, Room, Sentence
from models.errors import UserError
from models.nmt.search_options import END_ID, PAD_ID, Hypothesis, SearchOptions
from models.nmt.transformer import Transformer

BATCH = 128  # sentences; of short ones, 64 a processor are 40 % faster than 16
# Target places (sentences times the most tokens of each) from which on it pays to wait
# for a program of their own, and for XLA to compile it: about 1 s and 3 s once.
OWN_ROOM_FROM = 1 << 13
COMPILED_FROM = 1 << 16
_FEWEST_SEATS = 16  # below, a processor is better used by one batch than by two
_EMPTY = Hypothesis((), 0.0, 0.0, True)


class Translator:
    """Decodes with one model under one set of options.

    The weights are read at every call: a translator of a model in training always
    uses the newest ones, and the trials of one size can share a translator by
    assigning their weights to its model. Programs are made when they are first needed,
    one a bucket of source lengths, and kept; until enough sentences have come for one
    of their own, they use one for longer sentences.

    Args:
      model: A single model (``stack`` is ``None``), built.
      options: What to search for.
      batch_sentences: Sentences that are decoded side by side.
      window: Sentences that `stream` reads ahead, to batch them by length.
      compiled: Whether XLA compiles the programs, and each bucket has its own from the
        start: seconds each, for up to twice the speed. By default each when
        sentences for `COMPILED_FROM` target places have come for it.
      workers: Batches that are decoded at the same time, each with its share of
        ``batch_sentences``. By default one a processor; one with an accelerator.
    """

    def __init__(
        self,
        model: Transformer,
        options: SearchOptions | None = None,
        *,
        batch_sentences: int = BATCH,
        window: int = 4096,
        compiled: bool | None = None,
        workers: int | None = None,
    ):
        if model.stack is not None:
            raise ValueError("a stack of models cannot decode; take one of them")
        self.model = model
        self.options = options or SearchOptions()
        self.window = max(window, batch_sentences)
        self.compiled = compiled
        self.workers = workers or _default_workers(batch_sentences)
        self.seats = max(batch_sentences // self.workers, 1)
        self._programs: dict[Room, Program] = {}
        # Places that each room was the right one for, and those that it decoded.
        self._wanted: collections.Counter[Room] = collections.Counter()
        self._served: collections.Counter[Room] = collections.Counter()

    def translate_ids(
        self,
        source_ids: Sequence[Sequence[int]],
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        first: int = 0,
    ) -> list[list[Hypothesis]]:
        """Translates sentences.

        Args:
          source_ids: The tokens of each sentence exactly as in training: with the
            tag of the target language, if the model knows several, and the end of
            sentence. Of any length; a sentence without tokens gets the empty
            hypothesis.
          prefixes: For each sentence the target tokens that its hypotheses begin
            with; may be empty.
          first: Number of the first sentence, which its samples depend on.

        Returns:
          For each sentence, in the order given, up to ``nbest`` hypotheses, the
          best first. What a sentence gets depends on the others, and on what came
          before them, by rounding only.

        Raises:
          UserError: An id is outside of the model's vocabulary, or the prefixes are
            not as many as the sentences.
        """
        if prefixes is not None and len(prefixes) != len(source_ids):
            raise UserError(
                f"translate: {len(source_ids)} sentences, {len(prefixes)} prefixes"
            )
        return list(self.stream(source_ids, prefixes=prefixes, first=first))

    def stream(
        self,
        source_ids: Iterable[Sequence[int]],
        *,
        prefixes: Iterable[Sequence[int]] | None = None,
        first: int = 0,
    ) -> Iterator[list[Hypothesis]]:
        """As `translate_ids`, in memory that does not grow with their number."""
        pairs = zip(source_ids, prefixes or itertools.repeat(()), strict=False)
        numbered = enumerate(pairs, start=first)
        while read := list(itertools.islice(numbered, self.window)):
            sentences = [
                self._sentence(number, ids, prefix) for number, (ids, prefix) in read
            ]
            found = self._translate([s for s in sentences if len(s.ids)])
            for sentence in sentences:
                yield found.get(sentence.number, [_EMPTY])

    def _sentence(
        self, number: int, ids: Sequence[int], prefix: Sequence[int]
    ) -> Sentence:
        largest = self.model.vocabulary_size - 1
        for i in itertools.chain(ids, prefix):
            if not PAD_ID < i <= largest:
                raise UserError(
                    f"translate: sentence {number} has the id {i}, expected 1 to "
                    f"{largest}; is this the tokenizer that the model was trained with?"
                )
        if END_ID in prefix:
            raise UserError(
                f"translate: the prefix of sentence {number} holds the end of "
                f"sentence (id {END_ID}); leave it out"
            )
        limit = max(self.options.max_length(len(ids)), len(prefix) + 1)
        return Sentence(number, ids, prefix, limit)

    def _translate(self, sentences: list[Sentence]) -> dict[int, list[Hypothesis]]:
        """Number -> hypotheses."""
        found: dict[int, list[Hypothesis]] = {}
        again: list[Sentence] = []
        for bucket in _buckets(sentences, self.seats * self.workers):
            source_length = _rounded(max(len(s.ids) for s in bucket))
            likely = 5 * source_length // 4 + 8
            again += self._decode(bucket, source_length, likely, found)
        for bucket in _buckets(again, self.seats * self.workers):
            source_length = _rounded(max(len(s.ids) for s in bucket))
            longest = max(s.limit for s in bucket)
            self._decode(bucket, source_length, longest, found)
        return found

    def _decode(
        self,
        bucket: list[Sentence],
        source_length: int,
        length: int,
        found: dict[int, list[Hypothesis]],
    ) -> list[Sentence]:
        """Decodes a bucket; returns those that become longer than ``length``.

        Each worker has its sentences from the start, not from a queue of all: so
        that the same call always makes the same batches.
        """
        workers = min(self.workers, max(len(bucket) // 2, 1))
        shares = [bucket[w::workers] for w in range(workers)]
        prefix_length = max(len(s.prefix) for s in bucket)
        wanted = Room(
            seats=min(self.seats, _power_of_two(len(shares[0]))),
            source_length=source_length,
            prefix_length=-(-prefix_length // 4) * 4,
            length=_rounded(max(min(length, max(s.limit for s in bucket)), 8)),
        )
        program = self._program(wanted, len(bucket))
        batches = [Batch(program) for _ in shares]
        if workers == 1:
            results = [batches[0].translate(shares[0])]
        else:
            with ThreadPoolExecutor(workers) as pool:
                results = list(pool.map(Batch.translate, batches, shares))
        again = []
        for translated, too_long in results:
            found.update(translated)
            again += too_long
        return again

    def _program(self, wanted: Room, count: int) -> Program:
        """What decodes so many sentences: made for them, or larger and there."""
        places = count * wanted.length
        self._wanted[wanted] += places
        room = wanted
        if not self.compiled and self._wanted[wanted] < OWN_ROOM_FROM:
            there = [room for room in self._programs if room.holds(wanted)]
            room = min(there, key=lambda room: room.size, default=wanted)
        self._served[room] += places
        compiled = self.compiled
        if compiled is None:
            compiled = self._served[room] >= COMPILED_FROM
        program = self._programs.get(room)
        if program is None or program.compiled != compiled:
            program = Program(self.model, self.options, room, compiled=compiled)
            self._programs[room] = program
        return program


def _buckets(sentences: list[Sentence], fewest: int) -> Iterator[list[Sentence]]:
    """Sentences of like source length, each bucket the longest first.

    Fewer than ``fewest`` go with the longer ones before them: a program for them
    alone would not pay.
    """
    ordered = sorted(sentences, key=lambda s: (-len(s.ids), s.number))
    bucket: list[Sentence] = []
    for _, group in itertools.groupby(ordered, key=lambda s: _rounded(len(s.ids))):
        members = list(group)
        if bucket and len(members) >= fewest:
            yield bucket
            bucket = []
        bucket += members
    if bucket:
        yield bucket


def _rounded(length: int) -> int:
    """The next of 8, 16, 24, 32, 48, 64, 96, 128, 192, ..."""
    power = _power_of_two(max(length, 8))
    middle = 3 * power // 4
    return middle if power > 16 and length <= middle else power


def _power_of_two(count: int) -> int:
    """The next power of two."""
    return 1 << math.ceil(math.log2(count))


def _default_workers(batch_sentences: int) -> int:
    if any(d.device_type != "CPU" for d in tf.config.list_physical_devices()):
        return 1
    processors = available_cores()
    return max(min(processors, batch_sentences // _FEWEST_SEATS), 1)
