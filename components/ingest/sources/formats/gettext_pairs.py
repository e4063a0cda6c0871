"""What gettext catalogues of both forms, PO and MO, have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import matches, normal, sides
from models.errors import UserError

_LANGUAGE = re.compile(r"^Language: *([A-Za-z_@.-]+)", re.MULTILINE)


def is_reversed(entry: TextInput) -> bool:
    """Whether the messages' language is the target of the task.

    Raises:
      UserError: It is neither side.
    """
    source, target = sides(entry.task)
    language = entry.corpus.message_language
    if matches(language, source):
        return False
    if matches(language, target):
        return True
    raise UserError(
        f"{entry.paths[0]}: the messages are in {language}, which is no side of "
        f"{entry.task}; set message_language if they are not"
    )


def check_header(entry: TextInput, header: str) -> None:
    """Raises ``UserError`` if a catalogue says it is in another language."""
    found = _LANGUAGE.search(header)
    source, target = sides(entry.task)
    wanted = source if is_reversed(entry) else target
    if found and not matches(found[1], wanted) and not matches(wanted, found[1]):
        raise UserError(
            f"{entry.paths[0]}: the header says Language: {found[1]}; expected "
            f"{normal(wanted)} for task {entry.task}"
        )


def pairs(
    entry: TextInput,
    messages: Sequence[tuple[int, str]],
    translations: Sequence[str],
    fault: str = "",
) -> Iterator[Pair]:
    """The pairs of one entry: singular with the first form, plural with the second.

    A language with one form only translates the plural by it.

    Args:
      entry: What is read.
      messages: Place and text of the message, and of its plural if it has one.
      translations: The forms of the translation.
      fault: The rule that rejects them, or empty.
    """
    if len(messages) > 1 and len(translations) == 1:
        messages = messages[1:]
    for (place, message), translation in zip(messages, translations, strict=False):
        sides_found = (message, translation)
        source, target = reversed(sides_found) if is_reversed(entry) else sides_found
        yield Pair(
            place,
            source,
            target,
            fault if translation else "",
            entry.corpus.message_language,
        )
