"""A SavedModel that takes strings and returns translations.

Everything is in the graph: Unicode repair, SentencePiece (tensorflow-text), the tag of
the language, the search, detokenisation. ``OUT/<version>/`` is what TensorFlow Serving
watches; its signatures are

* ``serving_default``: ``text`` and, where the model writes several languages, ``to``
  (one a text, or one for all), string ``[sentences]``;
* ``translate_<language>``: ``text`` alone.

Both return ``translation`` (string), ``score`` (float) and ``complete`` (bool: the
source was not cut and the translation came to its end), ``[sentences]`` each. The
server needs the operations of tensorflow-text; `tensorflow_text` in Python.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_text

from components.serve.exported import Description, next_version
from components.serve.keras_search import load_model
from components.serve.trained import Trained
from models.errors import UserError
from models.nmt.beam_search import beam_search
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions

# As `components.serve.lines.one_line` and `Vocabulary.decode` do it.
_TAG = r"^<2[^<> ]+> ?"
_LINE_ENDS = "[\t\n\v\f\r\x1c-\x1e\u0085\u2028\u2029]+"
_TEXTS = tf.TensorSpec([None], tf.string, "text")
_LANGUAGES = tf.TensorSpec([None], tf.string, "to")


def export_saved_model(
    trained: Trained,
    options: SearchOptions,
    out: Path,
    *,
    lengths: Sequence[int],
    zero_shot: bool = False,
) -> Path:
    """Writes the next version of a model to a folder.

    Args:
      trained: The model.
      options: Of the search.
      out: Folder of all versions.
      lengths: Source lengths to make graphs for, in tokens, rising. The texts of a
        request share the smallest that holds the longest of them; a text that is
        longer than the last is cut.
      zero_shot: Offer languages too that the model has not been trained to write.

    Returns:
      ``out/<version>``, complete: it gets its name last.

    Raises:
      UserError: The model writes no language, or sampling is asked for.
    """
    if options.samples:
        raise UserError("export: a SavedModel cannot sample; leave out --temperature")
    tags = trained.offered(zero_shot=zero_shot)
    module = TranslationModule(trained, options, tags, lengths)
    version = next_version(out)
    temporary = out / f".{version}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    tf.saved_model.save(module, str(temporary), signatures=module.signatures())
    Description(trained.name, tuple(tags), options, tuple(lengths)).save(temporary)
    os.replace(temporary, out / str(version))
    return out / str(version)


class TranslationModule(tf.Module):
    """What is saved: weights, vocabulary, tags and the signatures over them.

    Args:
      trained: The model.
      options: Of the search.
      tags: Language -> tag, or ``None`` for the one language of a model without.
      lengths: See `export_saved_model`.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        tags: Mapping[str, str | None],
        lengths: Sequence[int],
    ):
        super().__init__()
        self.options, self.lengths = options, list(lengths)
        self.languages = tuple(tags)
        self.tagged = None not in tags.values()
        self.tokenizer = tensorflow_text.SentencepieceTokenizer(
            model=trained.vocabulary.serialised, out_type=tf.int32, add_eos=True
        )
        model = load_model(trained)
        self.weights = [v.value for v in model.trainable_variables]
        self._beam_search = functools.partial(beam_search, model, options)
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
        is_text = tf.strings.length(text) > 0
        ids, lengths, is_whole = self._ids(text, tf.broadcast_to(to, tf.shape(text)))
        longest = tf.reduce_max(tf.concat([lengths, [1]], axis=0))
        tokens, scores, ended = tf.switch_case(
            tf.searchsorted(self.lengths, [longest])[0],
            [
                functools.partial(self._search, ids, lengths, length)
                for length in self.lengths
            ],
        )
        return {
            "translation": tf.where(is_text, self._text(tokens), ""),
            "score": tf.where(is_text, scores, 0.0),
            "complete": ~is_text | (ended & is_whole),
        }

    def _ids(
        self, text: tf.Tensor, to: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Source ids as in training, int32 ``[sentences, last of lengths]``.

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
        longest = self.lengths[-1]
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

    def _search(
        self, ids: tf.Tensor, lengths: tf.Tensor, length: int
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The best translation of each text in a graph for one source length.

        Returns:
          Its tokens, int32 ``[sentences, most]``, its score and whether it ended.
        """
        options = self.options
        ratio, extra = options.max_length_ratio, options.max_length_extra
        limits = tf.math.ceil(ratio * tf.cast(lengths, tf.float32) + extra)
        limits = tf.maximum(tf.cast(limits, tf.int32), 1)
        bound = options.max_length(length)
        found = self._beam_search(ids[:, :length], limits, length=bound)
        is_own = tf.range(bound) < found.lengths[:, 0, None]
        tokens = tf.where(is_own, found.tokens[:, 0], PAD_ID)
        missing = options.max_length(self.lengths[-1]) - bound
        tokens = tf.pad(tokens, [[0, 0], [0, missing]])
        return tokens, found.scores[:, 0], found.ended[:, 0]

    def _text(self, tokens: tf.Tensor) -> tf.Tensor:
        """int32 ``[sentences, most]`` -> string ``[sentences]``."""
        is_text = tf.logical_and(tokens != PAD_ID, tokens != END_ID)
        text = self.tokenizer.detokenize(tf.ragged.boolean_mask(tokens, is_text))
        text = tf.strings.regex_replace(text, _TAG, "")
        return tf.strings.strip(tf.strings.regex_replace(text, _LINE_ENDS, " "))


def _into(translate: Callable, language: str) -> Any:
    """A function of texts alone, into one language."""

    def translate_text(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return translate(text, tf.constant([language]))

    return tf.function(translate_text, input_signature=[_TEXTS], autograph=False)
