"""Did you mean ...?"""

from __future__ import annotations

import difflib
from collections.abc import Collection


def suggestion(word: object, known: Collection[str], prefix: str = "") -> str:
    """``; did you mean X?``, or nothing when no known word is close.

    A word that is a part of a known one counts as close: ``warmup`` is answered with
    ``warmup_steps``. ``prefix`` is put before what is suggested.
    """
    word = str(word)
    close = difflib.get_close_matches(word, known, n=1)
    if not close and len(word) > 2:
        close = [name for name in known if word in name or name in word]
    return f"; did you mean {prefix}{close[0]}?" if close else ""
