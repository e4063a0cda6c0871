"""Language codes: which of a file's languages a task means."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from models.errors import UserError

# ISO 639-1, with the former codes that data still uses.
_TWO_LETTERS = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs
    cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha
    he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji jv ka kg ki kj kk
    kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms
    mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru
    rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn
    to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)


def normal(code: str) -> str:
    """A code in one spelling: ``zh_TW`` and ``ZH-tw`` are ``zh-tw``."""
    return code.strip().replace("_", "-").lower()


@functools.lru_cache(maxsize=4096)
def matches(code: str, wanted: str) -> bool:
    """Whether a BCP 47 code is the wanted language or a variety of it.

    ``zh-Hans-CN`` and ``zh`` are ``zh``; ``zh`` is not ``zh-tw``.
    """
    return f"{normal(code)}-".startswith(f"{normal(wanted)}-")


def choose(codes: Iterable[str], wanted: str) -> str | None:
    """The code that fits best: the language itself before its varieties, among
    those the first; None when none fits."""
    fitting = [code for code in codes if matches(code, wanted)]
    if len(fitting) > 1:
        exact = [code for code in fitting if normal(code) == normal(wanted)]
        fitting = exact + fitting
    return fitting[0] if fitting else None


def is_code(text: str) -> bool:
    """Whether a text looks like the code of a language: ``de``, ``gsw``, ``zh-TW``."""
    language, *subtags = normal(text).split("-")
    known = language in _TWO_LETTERS or (len(language) == 3 and language.isalpha())
    return known and all(tag.isalnum() for tag in subtags)


def sides(task: str) -> tuple[str, str]:
    """The two languages of a task such as ``en-de``."""
    source, _, target = task.partition("-")
    return source, target


def check(task: str) -> None:
    """Raises ``UserError`` for a code of two letters that is no language, or for a
    task that translates a language into itself. Longer codes are not looked up."""
    for code in sides(task):
        language = normal(code).partition("-")[0]
        if len(language) == 2 and language not in _TWO_LETTERS:
            raise UserError(
                f"task {task}: {code} is no language code of ISO 639-1; expected one "
                "such as en, de or zh-TW (written zh_TW in tasks), or three letters"
            )
    source, target = (normal(code) for code in sides(task))
    if source == target:
        raise UserError(f"task {task} translates a language into itself")
