"""``--set section.key=value``: overrides of an experiment file's plain values."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from models.errors import UserError
from pipeline import yaml_text

_EXAMPLE = "expected section.key=value, for example --set train.steps=2000"


def parse(text: str) -> tuple[tuple[str, ...], Any]:
    """``train.steps=2_000`` -> ``(("train", "steps"), 2000)``.

    The value is YAML, so lists (``[2k, 5k]``) and sections (``{en-de: 0.3}``) work.

    Raises:
      UserError: The text is not of that form.
    """
    path, equals, value = text.partition("=")
    keys = tuple(key.strip() for key in path.split("."))
    if not equals or not all(keys):
        raise UserError(f"--set {text}: {_EXAMPLE}")
    return keys, yaml_text.parse(value, f"--set {text}")


def apply(
    tree: Any,
    overrides: Sequence[str],
    resolve: Callable[[dict[str, Any]], dict[str, Any]] = lambda part: part,
) -> Any:
    """A copy of ``tree`` with every override written into it, the last one winning.

    Args:
      tree: Plain values of an experiment file.
      overrides: Texts of the form ``section.key=value``.
      resolve: What becomes of the part of a tree that an override sets.

    Raises:
      UserError: An override is malformed or leads into something that is no section.
    """
    tree = copy.deepcopy(tree)
    for text in overrides:
        keys, value = parse(text)
        part = resolve(functools.reduce(lambda x, key: {key: x}, keys[::-1], value))
        value = functools.reduce(lambda x, key: x[key], keys, part)
        section = tree
        for depth, key in enumerate(keys[:-1]):
            if section.get(key) is None:
                section[key] = {}
            section = section[key]
            if not isinstance(section, dict):
                path = ".".join(keys[: depth + 1])
                raise UserError(
                    f"--set {text}: {path} is not a section but {section!r}; "
                    f"set it as a whole: --set '{path}=...'"
                )
        section[keys[-1]] = value
    return tree


def is_overridden(field: str, overrides: Sequence[str]) -> bool:
    """Whether the value at the dotted path ``field`` came from an override."""
    for text in overrides:
        path = ".".join(parse(text)[0])
        if field == path or field.startswith((f"{path}.", f"{path}[")):
            return True
    return False
