"""The script of every character, and how much of a text is in which script.

Python knows no script property, but the names of letters begin with it: ``LATIN
SMALL LETTER A``, ``CJK UNIFIED IDEOGRAPH-4E00``.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

import numpy as np

SCRIPTS = (
    "none",
    "latin",
    "han",
    "cyrillic",
    "greek",
    "arabic",
    "hebrew",
    "devanagari",
    "bengali",
    "tamil",
    "telugu",
    "thai",
    "lao",
    "khmer",
    "myanmar",
    "georgian",
    "armenian",
    "ethiopic",
    "hiragana",
    "katakana",
    "hangul",
    "other",
)
NONE, OTHER = 0, len(SCRIPTS) - 1
_NAMED = {"cjk": "han", **{script: script for script in SCRIPTS[1:-1]}}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")
_LAST = 0x32400  # the last letters with names worth looking up

# Languages that are not written in Latin letters; Japanese mixes three scripts.
_WRITTEN_IN = {
    **dict.fromkeys(("zh", "yue"), ("han",)),
    "ja": ("han", "hiragana", "katakana"),
    "ko": ("hangul", "han"),
    **dict.fromkeys(
        ("ru", "uk", "bg", "be", "mk", "kk", "ky", "mn", "tg"), ("cyrillic",)
    ),
    "sr": ("cyrillic", "latin"),
    "el": ("greek",),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ckb", "sd", "ug"), ("arabic",)),
    **dict.fromkeys(("he", "yi"), ("hebrew",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("devanagari",)),
    **dict.fromkeys(("bn", "as"), ("bengali",)),
    "ta": ("tamil",),
    "te": ("telugu",),
    "th": ("thai",),
    "lo": ("lao",),
    "km": ("khmer",),
    "my": ("myanmar",),
    "ka": ("georgian",),
    "hy": ("armenian",),
    **dict.fromkeys(("am", "ti"), ("ethiopic",)),
}
_LATIN = (
    "af az bs ca cs cy da de en eo es et eu fi fr ga gl ha hr hu id ig is it la lb lt "
    "lv mg mi ms mt nb nl nn no pl pt ro sk sl so sq sv sw tl tr uz vi xh yo zu"
).split()


def written_in(language: str) -> tuple[str, ...]:
    """The scripts of a language; empty where it is not known here.

    Example:
      >>> written_in("ja"), written_in("de"), written_in("zh-tw"), written_in("xx")
      (('han', 'hiragana', 'katakana'), ('latin',), ('han',), ())
    """
    code = language.lower().replace("_", "-").partition("-")[0]
    if code in _LATIN:
        return ("latin",)
    return _WRITTEN_IN.get(code, ())


def scripts_of(points: np.ndarray) -> np.ndarray:
    """Position in `SCRIPTS` of the script of each code point, uint8 [n]; `NONE` of
    what is no letter."""
    table = _table()
    return table[np.minimum(points, len(table) - 1)]


def code_points(texts: Sequence[str]) -> np.ndarray:
    """All characters of texts, one after another, uint32."""
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, np.uint32)


def script_letters(texts: Sequence[str]) -> np.ndarray:
    """Letters of all texts together in each script, int64 [len(SCRIPTS)]."""
    counted = np.bincount(scripts_of(code_points(texts)), minlength=len(SCRIPTS))
    counted[NONE] = 0
    return counted


@functools.cache
def _table() -> np.ndarray:
    table = np.zeros(_LAST + 1, np.uint8)
    for point in range(_LAST):
        character = chr(point)
        if not character.isalpha():
            continue
        words = unicodedata.name(character, "").split(" ")
        first = words[1] if words[0] in _WIDTHS else words[0]
        name = _NAMED.get(first.partition("-")[0].lower(), "other")
        table[point] = SCRIPTS.index(name)
    return table
