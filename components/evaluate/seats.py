"""A batch that sentences join and leave, so that none waits for the longest.

One compiled program serves all sentences of a bucket of lengths. It runs until some
of the sentences in its seats have come to their end; these are taken out, others get
their seats, and it runs on.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models.nmt import search
from models.nmt.cached_decoder import CachedDecoder, Source, empty_source
from models.nmt.decoding import extension
from models.nmt.search import Beam, Sentences
from models.nmt.search_options import END_ID, PAD_ID, Hypothesis, SearchOptions
from models.nmt.transformer import Transformer

KEEPS, LEAVES = -1, -2  # in the places of `search.seat`
_SHARE = 4  # one seat in so many changes hands at a time


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence to translate.

    Attributes:
      number: Its place among all sentences; what its samples depend on.
      ids: Source tokens.
      prefix: Target tokens to begin with.
      limit: Most target tokens, with the end of sentence.
    """

    number: int
    ids: Sequence[int]
    prefix: Sequence[int]
    limit: int


@dataclasses.dataclass(frozen=True)
class Room:
    """The static shape of a program.

    Attributes:
      seats: Sentences side by side.
      source_length: Most source tokens.
      prefix_length: Most tokens of a prefix.
      length: Most target tokens; a sentence that needs more has to leave unfinished.
    """

    seats: int
    source_length: int
    prefix_length: int
    length: int

    @property
    def size(self) -> int:
        """Grows with what a step costs."""
        return self.seats * (self.source_length + self.length)

    def holds(self, other: Room) -> bool:
        """Whether sentences for another room can be decoded in this one, though
        perhaps fewer at a time."""
        return (
            4 * self.seats >= other.seats
            and self.source_length >= other.source_length
            and self.prefix_length >= other.prefix_length
            and self.length >= other.length
        )


class Program:
    """One model and one room, compiled.

    Args:
      model: A single model.
      options: What to search for.
      room: The shape.
      compiled: Whether XLA compiles it.
    """

    def __init__(
        self, model: Transformer, options: SearchOptions, room: Room, *, compiled: bool
    ):
        self.model = model
        self.options = options
        self.room = room
        self.compiled = compiled
        # Sources are encoded so many at a time: only those that have arrived.
        self._group = max(room.seats // _SHARE, 1)
        function = tf.function(self._run, autograph=False, jit_compile=compiled)
        self.run = function.get_concrete_function(*self._signature())

    def _signature(self) -> tuple:
        """Shapes of the arguments of `_run`."""
        sentences, beam = tf.nest.map_structure(tf.TensorSpec.from_tensor, self.free())
        scalar = tf.TensorSpec((), tf.int32)
        return (
            sentences,
            beam,
            tf.TensorSpec((self.room.seats, self.room.source_length), tf.int32),
            sentences._replace(source=()),
            scalar,
            tf.TensorSpec((self.room.seats,), tf.int32),
            scalar,
        )

    def free(self) -> tuple[Sentences, Beam]:
        """The batch with no seat taken."""
        return search.free_seats(
            self.model,
            self.options,
            batch=self.room.seats,
            length=self.room.length,
            source_length=self.room.source_length,
            prefix_length=self.room.prefix_length,
        )

    def _run(
        self,
        sentences: Sentences,
        beam: Beam,
        source_ids: tf.Tensor,
        arrived: Sentences,
        count: tf.Tensor,
        places: tf.Tensor,
        leaving: tf.Tensor,
    ) -> tuple[Sentences, Beam]:
        """Seats the sentences that arrived and goes on until ``leaving`` have ended.

        Args:
          sentences, beam: The batch.
          source_ids: int32 ``[seats, source_length]``, of those that arrived.
          arrived: The rest of what is known about them; without its ``source``.
          count: int32 scalar, how many they are.
          places: As in `search.seat`.
          leaving: As in `search.advance`.
        """
        decoder = CachedDecoder(self.model, self.room.length)
        arrived = arrived._replace(source=self._read(decoder, source_ids, count))
        sentences, beam = search.seat(self.options, sentences, beam, arrived, places)
        step = extension(decoder, self.options, sentences)
        return sentences, search.advance(beam, step, leaving)

    def _read(
        self, decoder: CachedDecoder, source_ids: tf.Tensor, count: tf.Tensor
    ) -> Source:
        """Encodes the first ``count`` rows, a group at a time."""
        group, length = self._group, self.room.source_length

        def read_group(begin: tf.Tensor, source: Source) -> tuple[tf.Tensor, Source]:
            ids = tf.slice(source_ids, [begin, 0], [group, length])
            read = decoder.read(ids)
            places = begin + tf.range(group)
            written = tf.nest.map_structure(
                lambda all_, new: tf.tensor_scatter_nd_update(
                    all_, places[:, None], new
                ),
                source,
                read,
            )
            return begin + group, written

        empty = empty_source(self.model, self.room.seats, length)
        return tf.while_loop(
            lambda begin, _: begin < count, read_group, (tf.constant(0), empty)
        )[1]


class Batch:
    """The sentences in the seats of one program.

    Args:
      program: What decodes them.
    """

    def __init__(self, program: Program):
        self.program = program
        self.room = program.room
        self.sentences, self.beam = program.free()
        self.seated: list[Sentence | None] = [None] * self.room.seats

    def translate(
        self, waiting: Sequence[Sentence]
    ) -> tuple[dict[int, list[Hypothesis]], list[Sentence]]:
        """Translates sentences that fit into the room's source length.

        Returns:
          Number -> hypotheses, and the sentences that need a longer room.
        """
        queue = collections.deque(waiting)
        found: dict[int, list[Hypothesis]] = {}
        too_long: list[Sentence] = []
        left: list[int] = []
        while queue or any(self.seated):
            places = self._fill(queue, left)
            self._run(places, everyone=not queue)
            left = self._take_out(found, too_long)
        return found, too_long

    def _fill(
        self, queue: collections.deque[Sentence], left: Sequence[int]
    ) -> list[tuple[int, Sentence | None]]:
        """Gives free seats to those who wait; the other seats of ``left`` are freed."""
        places: list[tuple[int, Sentence | None]] = []
        for seat, sentence in enumerate(self.seated):
            if sentence is None and queue:
                self.seated[seat] = queue.popleft()
                places.append((seat, self.seated[seat]))
            elif sentence is None and seat in left:
                places.append((seat, None))
        return places

    def _run(
        self, places: list[tuple[int, Sentence | None]], *, everyone: bool
    ) -> None:
        """One call of the program."""
        room, options = self.room, self.program.options
        arrivals = [(s, sentence) for s, sentence in places if sentence is not None]
        source_ids = np.full((room.seats, room.source_length), PAD_ID, np.int32)
        prefixes = np.full((room.seats, room.prefix_length), PAD_ID, np.int32)
        limits = np.ones(room.seats, np.int32)
        uniforms = np.zeros(self.sentences.uniforms.shape, np.float32)
        rows = np.full(room.seats, KEEPS, np.int32)
        rows[[seat for seat, _ in places]] = LEAVES
        for row, (seat, sentence) in enumerate(arrivals):
            rows[seat] = row
            limits[row] = sentence.limit
            source_ids[row, : len(sentence.ids)] = sentence.ids
            prefixes[row, : len(sentence.prefix)] = sentence.prefix
            if options.samples:
                uniforms[row] = draws(options, sentence.number, room.length)
        # So many seats change hands at a time, for a full batch of sources.
        leaving = room.seats if everyone else max(room.seats // _SHARE, 1)
        given = Sentences((), *map(tf.constant, (limits, prefixes, uniforms)))
        self.sentences, self.beam = self.program.run(
            self.sentences,
            self.beam,
            tf.constant(source_ids),
            given,
            tf.constant(len(arrivals)),
            tf.constant(rows),
            tf.constant(leaving),
        )

    def _take_out(
        self, found: dict[int, list[Hypothesis]], too_long: list[Sentence]
    ) -> list[int]:
        """Takes out who is done or has no place left; returns their seats."""
        done, full = self.beam.done.numpy(), search.is_full(self.beam).numpy()
        left = [
            seat
            for seat, sentence in enumerate(self.seated)
            if sentence is not None and (done[seat] or full[seat])
        ]
        hypotheses = read_hypotheses(self.program.options, self.beam, left)
        for seat, read in zip(left, hypotheses, strict=True):
            sentence = self.seated[seat]
            if done[seat]:
                found[sentence.number] = read
            else:
                too_long.append(sentence)
            self.seated[seat] = None
        return left


def draws(options: SearchOptions, number: int, length: int) -> np.ndarray:
    """float32 ``[width, length]``: the chance in the samples of a sentence."""
    generator = np.random.default_rng([options.seed, number])
    return generator.random((length, options.width), np.float32).T


def read_hypotheses(
    options: SearchOptions, beam: Beam, seats: Sequence[int]
) -> list[list[Hypothesis]]:
    """The ``nbest`` kept hypotheses of the sentences in some seats, best first."""
    begun = beam.begun.numpy()
    rings, lengths = beam.kept_tokens.numpy(), beam.kept_lengths.numpy()
    log_probabilities = beam.kept_log_probabilities.numpy()
    read = []
    for seat in seats:
        tokens = np.roll(rings[seat], -int(begun[seat]), axis=1)
        hypotheses = [
            _hypothesis(options, ids[:length].tolist(), float(log_probability))
            for ids, length, log_probability in zip(
                tokens, lengths[seat], log_probabilities[seat], strict=True
            )
            if length
        ]
        hypotheses.sort(key=lambda found: (not found.ended, -found.score))
        read.append(hypotheses[: options.nbest])
    return read


def _hypothesis(
    options: SearchOptions, ids: list[int], log_probability: float
) -> Hypothesis:
    score = log_probability / len(ids) ** options.length_normalisation
    ended = ids[-1] == END_ID
    return Hypothesis(tuple(ids[:-1] if ended else ids), log_probability, score, ended)
