"""Language codes: which of a file's languages a task means."""

from __future__ import annotations

from collections.abc import Iterable


def normal(code: str) -> str:
    """A code in one spelling: ``zh_TW`` and ``ZH-tw`` are ``zh-tw``."""
    return code.strip().replace("_", "-").lower()


def matches(code: str, wanted: str) -> bool:
    """Whether a BCP 47 code is the wanted language or a variety of it.

    ``zh-Hans-CN`` and ``zh`` are ``zh``; ``zh`` is not ``zh-tw``.
    """
    return f"{normal(code)}-".startswith(f"{normal(wanted)}-")


def choose(codes: Iterable[str], wanted: str) -> str | None:
    """The code that fits best: the language itself before its varieties, among
    those the first; None when none fits."""
    fitting = [code for code in codes if matches(code, wanted)]
    exact = [code for code in fitting if normal(code) == normal(wanted)]
    return next(iter(exact + fitting), None)


def sides(task: str) -> tuple[str, str]:
    """The two languages of a task such as ``en-de``."""
    source, _, target = task.partition("-")
    return source, target
