"""The errors a person can cause, as opposed to the ones we can."""

from collections.abc import Collection


class UserError(ValueError):
    """A mistake of the person using the tool.

    The message is one line: where, what was seen, what was expected, what to
    try. The command line prints it without a traceback and exits with status 2.
    """


class FieldError(UserError):
    """A configuration field whose value cannot be used.

    Raised by the ``__post_init__`` of a ``Config``, which knows its own field
    names but not where in the experiment file it stands; the loader adds that.

    Attributes:
      field: Name of the field, dotted when it is nested.
      problem: What was seen, what is expected and what to try.
    """

    def __init__(self, field: str, problem: str):
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


def suggestion(word: object, known: Collection[str], prefix: str = "") -> str:
    """``; did you mean X?``, or nothing when no known word is close.

    A word that is a part of a known one counts as close: ``warmup`` is answered with
    ``warmup_steps``. ``prefix`` is put before what is suggested.
    """
    import difflib  # only where something went wrong

    word = str(word)
    close = difflib.get_close_matches(word, known, n=1)
    if not close and len(word) > 2:
        close = [name for name in known if word in name or name in word]
    return f"; did you mean {prefix}{close[0]}?" if close else ""
