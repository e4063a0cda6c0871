"""Public test sets by name, through sacrebleu's own access to them.

``sacrebleu:wmt19/en-de/source`` stands for a file that sacrebleu downloads and keeps
(in ``~/.sacrebleu``, or where the environment variable ``SACREBLEU`` says); without a
network only what is there already. ``sacrebleu --list`` shows the names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from models.errors import UserError

SCHEME = "sacrebleu:"
# Our words for sacrebleu's fields; its own (``ref:B``) are understood too.
_FIELDS = {"source": "src", "target": "ref", "origin": "origlang"}


def expand(where: str, name: str) -> list[str]:
    """The file of one side of a public test set.

    Args:
      where: Key in the experiment file, for messages.
      name: ``sacrebleu:TEST_SET/PAIR/SIDE``; the side is ``source``, ``target``,
        ``origin`` or a field of sacrebleu's. A test set may have a ``/`` itself.

    Raises:
      UserError: There is no such test set, pair or side, or it cannot be had.
    """
    try:
        from sacrebleu.dataset import DATASETS
    except ImportError:
        raise UserError(
            f"{where}: {name}: sacrebleu is not installed; pip install sacrebleu"
        ) from None
    parts = name.removeprefix(SCHEME).rsplit("/", 2)
    if len(parts) < 3:
        raise UserError(
            f"{where}: {name}: expected {SCHEME}TEST_SET/PAIR/SIDE, for example "
            f"{SCHEME}wmt19/en-de/source"
        )
    test_set, pair, side = parts
    if test_set not in DATASETS:
        raise UserError(
            f"{where}: {name}: sacrebleu has no test set {test_set}"
            + _near(test_set, DATASETS)
        )
    found = DATASETS[test_set]
    if pair not in found.langpairs:
        raise UserError(
            f"{where}: {name}: {test_set} has no pair {pair}"
            + _near(pair, found.langpairs)
        )
    field = _FIELDS.get(side, side)
    try:
        names, files = found.fieldnames(pair), found.get_files(pair)
    # It ends the process when what it downloaded is not what it expected.
    except (OSError, SystemExit) as error:
        raise UserError(
            f"{where}: {name}: cannot be downloaded ({error}); fetch it where there "
            f"is a network with `sacrebleu -t {test_set} -l {pair} --echo src`, or "
            "name local files"
        ) from None
    if field not in names:
        raise UserError(
            f"{where}: {name}: {test_set} {pair} has no {side}, only {', '.join(names)}"
        )
    return [str(files[names.index(field)])]


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(close)}?" if close else ""
