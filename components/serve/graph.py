"""The graph of a served model: strings to strings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_text

from components.evaluate.trained import Trained
from components.serve.versions import Shapes
from models.nmt.beam_search import NOT_ENDED
from models.nmt.decoding import decode
from models.nmt.search import Beam
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions

# As `components.evaluate.hypotheses.one_line` and `Vocabulary.decode` do it.
_TAG = r"^<2[^<> ]+> ?"
_LINE_ENDS = "[\t\n\v\f\r\x1c-\x1e\u0085\u2028\u2029]+"
_TEXTS = tf.TensorSpec([None], tf.string, "text")
_LANGUAGES = tf.TensorSpec([None], tf.string, "to")


class TranslationModule(tf.Module):
    """What is saved: weights, vocabulary, tags and the signatures over them.

    Args:
      trained: The model.
      options: Of the search.
      tags: Language -> tag, or ``None`` for the one language of a model without.
      shapes: Static shapes of the search.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        tags: Mapping[str, str | None],
        shapes: Shapes,
    ):
        super().__init__()
        self.options, self.shapes = options, shapes
        self.languages = tuple(tags)
        self.tagged = None not in tags.values()
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(
            model=trained.vocabulary.serialised, out_type=tf.int32, add_eos=True
        )
        self.weights = [v.value for v in trained.model.trainable_variables]
        self._decode = functools.partial(decode, trained.model, options)
        # One graph that all signatures call.
        self._translated = tf.function(
            self._translate, input_signature=[_TEXTS, _LANGUAGES], autograph=False
        )
        ids = [
            trained.vocabulary.tag_id(tag) if tag else PAD_ID for tag in tags.values()
        ]
        self.tag_ids = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(list(tags), tf.constant(ids, tf.int32)),
            default_value=-1,
        )

    def signatures(self) -> dict[str, Any]:
        """Name -> concrete function."""
        found = {
            f"translate_{language}": _into(self._translated, language)
            for language in self.languages
        }
        if len(self.languages) == 1:
            found["serving_default"] = found[f"translate_{self.languages[0]}"]
        else:
            found["serving_default"] = self._translated
        return {name: one.get_concrete_function() for name, one in found.items()}

    def _translate(self, text: tf.Tensor, to: tf.Tensor) -> dict[str, tf.Tensor]:
        """string ``[sentences]`` twice (or one language for all)."""
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        text = tf.strings.strip(text)
        ids, lengths, whole = self._ids(text, tf.broadcast_to(to, tf.shape(text)))
        # Like lengths together, and back.
        order = tf.argsort(lengths, stable=True)
        tokens, scores, ended = self._search_all(
            tf.gather(ids, order), tf.gather(lengths, order)
        )
        back = tf.argsort(order)
        written = self._text(tf.gather(tokens, back))
        is_text = tf.strings.length(text) > 0
        return {
            "translation": tf.where(is_text, written, ""),
            "score": tf.where(is_text, tf.gather(scores, back), 0.0),
            "complete": tf.logical_or(
                tf.logical_not(is_text), tf.logical_and(tf.gather(ended, back), whole)
            ),
        }

    def _ids(
        self, text: tf.Tensor, to: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Source ids as in training, int32 ``[sentences, longest shape]``.

        Returns:
          The ids, how many there are of each text, and whether that is all of it.
        """
        tags = self.tag_ids.lookup(to)
        known = ", ".join(self.languages)
        check = tf.debugging.Assert(
            tf.reduce_all(tags >= 0),
            [f"to: an unknown language; this model writes {known}:", to],
        )
        with tf.control_dependencies([check]):
            tags = tf.identity(tags)
        ids = self.tokenizer.tokenize(text)
        longest = self.shapes.lengths[-1]
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        dense = ids.to_tensor(PAD_ID, shape=[None, longest])
        if self.tagged:
            lengths += 1
            dense = tf.concat([tags[:, None], dense[:, :-1]], axis=1)
        is_whole = lengths <= longest
        # A text that is cut keeps its end of sentence.
        last = tf.where(is_whole, dense[:, -1], END_ID)
        dense = tf.concat([dense[:, :-1], last[:, None]], axis=1)
        return dense, tf.minimum(lengths, longest), is_whole

    def _search_all(
        self, ids: tf.Tensor, lengths: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Searches batch by batch, each of a static shape.

        Args:
          ids: int32 ``[sentences, longest shape]``, shorter ones first.
          lengths: int32 ``[sentences]``.

        Returns:
          The best target of each sentence: its tokens, int32 ``[sentences, most]``,
          its score, and whether it ended.
        """
        count = tf.shape(ids)[0]
        most = self._target_length(self.shapes.lengths[-1])
        full = self.shapes.batches[-1]
        kinds = ((tf.int32, [None, most]), (tf.float32, [None]), (tf.bool, [None]))
        found = [
            tf.TensorArray(kind, 0, True, element_shape=shape, infer_shape=False)
            for kind, shape in kinds
        ]

        def body(first: tf.Tensor, number: tf.Tensor, *arrays: tf.TensorArray) -> Any:
            last = tf.minimum(first + full, count)
            own = self._search(ids[first:last], lengths[first:last])
            written = [
                array.write(number, part)
                for array, part in zip(arrays, own, strict=True)
            ]
            return last, number + 1, *written

        _, _, *arrays = tf.while_loop(
            lambda first, *_: first < count, body, (0, 0, *found)
        )
        return tuple(
            tf.cond(
                count > 0,
                array.concat,
                lambda kind=kind, shape=shape: tf.zeros([0, *shape[1:]], kind),
            )
            for array, (kind, shape) in zip(arrays, kinds, strict=True)
        )

    def _search(
        self, ids: tf.Tensor, lengths: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Searches up to the largest batch of sentences."""
        count = tf.shape(ids)[0]
        by_batch = tf.searchsorted(list(self.shapes.batches), [count])[0]
        by_length = tf.searchsorted(
            list(self.shapes.lengths), [tf.reduce_max(lengths)]
        )[0]
        branches = [
            self._branch(ids, lengths, batch, length)
            for batch in self.shapes.batches
            for length in self.shapes.lengths
        ]
        index = by_batch * len(self.shapes.lengths) + by_length
        tokens, scores, ended = tf.switch_case(index, branches)
        return tokens[:count], scores[:count], ended[:count]

    def _branch(
        self, ids: tf.Tensor, lengths: tf.Tensor, batch: int, length: int
    ) -> Callable[[], tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
        """The search of one static shape."""
        bound = self._target_length(length)
        most = self._target_length(self.shapes.lengths[-1])

        def run() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            missing = batch - tf.shape(ids)[0]
            # What fills up the batch is an end of sentence, and over after a token.
            filler = tf.one_hot([0], length, END_ID, PAD_ID, dtype=tf.int32)
            rows = tf.concat(
                [ids[:, :length], tf.repeat(filler, missing, axis=0)], axis=0
            )
            ratio, extra = self.options.max_length_ratio, self.options.max_length_extra
            limits = tf.math.ceil(ratio * tf.cast(lengths, tf.float32) + extra)
            limits = tf.maximum(tf.cast(limits, tf.int32), 1)
            limits = tf.concat([limits, tf.ones([missing], tf.int32)], axis=0)
            beam = self._decode(
                tf.ensure_shape(rows, [batch, length]),
                tf.ensure_shape(limits, [batch]),
                length=bound,
            )
            return self._best(beam, most - bound)

        return run

    def _best(self, beam: Beam, missing: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The best kept hypothesis of each sentence, its tokens padded."""
        lengths = beam.kept_lengths[:, 0]
        places = tf.range(beam.kept_tokens.shape[2])
        tokens = tf.where(places < lengths[:, None], beam.kept_tokens[:, 0], PAD_ID)
        penalty = tf.cast(tf.maximum(lengths, 1), tf.float32)
        penalty **= self.options.length_normalisation
        scores = beam.kept_log_probabilities[:, 0] / penalty
        ended = beam.kept_scores[:, 0] > NOT_ENDED
        return tf.pad(tokens, [[0, 0], [0, missing]]), scores, ended

    def _text(self, tokens: tf.Tensor) -> tf.Tensor:
        """int32 ``[sentences, most]`` -> string ``[sentences]``."""
        is_text = tf.logical_and(tokens != PAD_ID, tokens != END_ID)
        text = self.tokenizer.detokenize(tf.ragged.boolean_mask(tokens, is_text))
        text = tf.strings.regex_replace(text, _TAG, "")
        return tf.strings.strip(tf.strings.regex_replace(text, _LINE_ENDS, " "))

    def _target_length(self, source_length: int) -> int:
        return self.options.max_length(source_length)


def _into(translate: Callable, language: str) -> Any:
    """A function of texts alone, into one language."""

    def translate_text(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return translate(text, tf.constant([language]))

    return tf.function(translate_text, input_signature=[_TEXTS], autograph=False)
