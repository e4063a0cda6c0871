"""Plain values (from YAML) -> frozen dataclasses, by their type hints alone.

Knows no component: every ``Config`` states its fields, types, choices and ranges
once, and this module turns a mistake in a file into one line that says where it is,
what was given, what is allowed and what may have been meant.

Supported hints: bool, int, float, str, ``Path``, ``Literal[...]``, ``X | None``,
``tuple[X, ...]``, ``Mapping[str, X]``, dataclasses, and unions of those whose member
follows from the kind of the value (a number or a mapping, say).
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from components.artifacts.file_path import FilePath
from models.errors import FieldError, UserError, suggestion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# What the hint ``Mapping[str, X]`` is made of.
MAPPING = collections.abc.Mapping


def build(cls: type[T], value: Any, path: str = "") -> T:
    """Builds the dataclass ``cls`` from the mapping ``value``.

    Args:
      cls: A dataclass whose fields have the hints that this module supports.
      value: What the YAML says; ``None`` (an empty section) means all defaults.
      path: Dotted path of this section within the file, empty for the file itself.

    Returns:
      The dataclass, deeply typed: lists are tuples, whole numbers are floats where
      a float is wanted.

    Raises:
      FieldError: A key or value that cannot be used; ``field`` is its full path.
    """
    value = {} if value is None else value
    if not isinstance(value, Mapping):
        raise FieldError(path, f"expected a section of `key: value`, {_given(value)}")
    hints = type_hints(cls)
    for key in value:
        if key not in hints:
            raise FieldError(_join(path, key), f"unknown key{_hint(cls, key, path)}")
    arguments = {
        name: convert(value[name], hints[name], _join(path, name))
        for name in hints
        if name in value
    }
    for field in dataclasses.fields(cls):
        if field.name not in arguments and _is_required(field):
            expected = describe(hints[field.name])
            raise FieldError(_join(path, field.name), f"missing; expected {expected}")
    try:
        return cls(**arguments)
    except FieldError as error:
        raise FieldError(_join(path, error.field), error.problem) from None
    except UserError as error:
        raise FieldError(path, str(error)) from None


def convert(value: Any, hint: Any, path: str) -> Any:
    """Checks ``value`` against a type hint and returns it in that type.

    Raises:
      FieldError: With ``path``, what was given and what is allowed.
    """
    if is_union(hint):
        return _convert_union(value, hint, path)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return build(hint, value, path)
    if not _accepts(value, hint):
        raise FieldError(path, f"expected {describe(hint)}, {_given(value, hint)}")
    origin = get_origin(hint)
    if origin is tuple:
        item = get_args(hint)[0]
        return tuple(convert(v, item, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is MAPPING:
        return _convert_mapping(value, get_args(hint)[1], path)
    if hint is float:
        return _finite(value, path)
    return Path(value) if hint is Path else value


def describe(hint: Any) -> str:
    """A type hint in words: ``a whole number``, ``one of linear, flexible``."""
    if is_union(hint):
        return " or ".join(describe(member) for member in get_args(hint))
    origin = get_origin(hint)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(hint))
    if origin is tuple:
        return f"a list, each item {describe(get_args(hint)[0])}"
    if origin is MAPPING:
        return f"a mapping of name: {describe(get_args(hint)[1])}"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return "a section with " + ", ".join(type_hints(hint))
    return {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        Path: "a path",
        types.NoneType: "nothing",
    }[hint]


@functools.cache
def type_hints(cls: type) -> dict[str, Any]:
    """Field name -> resolved hint, in the order of definition."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def anchored(value: Any, hint: Any, anchor: Callable[[str], str]) -> Any:
    """``value`` with every path in it, of type ``FilePath``, as ``anchor`` has it.

    Args:
      value: Plain values, which need not fit the hint.
      hint: A type hint with its annotations.
      anchor: Path -> path.
    """
    if hint == FilePath and isinstance(value, str):
        return anchor(value)
    inside = get_args(hint)
    if is_union(hint):
        for member in inside:
            value = anchored(value, member, anchor)
    elif get_origin(hint) is tuple and isinstance(value, list):
        return [anchored(item, inside[0], anchor) for item in value]
    elif get_origin(hint) is MAPPING and isinstance(value, Mapping):
        return {key: anchored(v, inside[1], anchor) for key, v in value.items()}
    elif dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {k: anchored(v, hints.get(k), anchor) for k, v in value.items()}
    return value


def leaf_paths(cls: type, path: str = "") -> list[str]:
    """Every dotted path that a file of type ``cls`` may set."""
    paths = []
    for name, hint in type_hints(cls).items():
        here = _join(path, name)
        paths.append(here)
        members = get_args(hint) if is_union(hint) else (hint,)
        for member in members:
            if isinstance(member, type) and dataclasses.is_dataclass(member):
                paths.extend(leaf_paths(member, here))
    return paths


def _convert_union(value: Any, hint: Any, path: str) -> Any:
    """The first member that can hold this kind of value decides."""
    members = get_args(hint)
    for member in members:
        if _accepts(value, member):
            return convert(value, member, path)
    allowed = [m for m in members if m is not types.NoneType]
    expected = " or ".join(describe(member) for member in allowed)
    raise FieldError(path, f"expected {expected}, {_given(value)}")


def _convert_mapping(value: Mapping, hint: Any, path: str) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            problem = f"the key {key!r} is not text; put it in quotes"
            raise FieldError(_join(path, key), problem)
    return {key: convert(v, hint, _join(path, key)) for key, v in value.items()}


def _accepts(value: Any, hint: Any) -> bool:
    """Whether this kind of value fits the hint, ignoring what is inside it."""
    origin = get_origin(hint)
    if origin is Literal:
        return any(type(value) is type(c) and value == c for c in get_args(hint))
    if origin is tuple:
        return isinstance(value, list)
    if origin is MAPPING or dataclasses.is_dataclass(hint):
        return isinstance(value, Mapping)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str if hint is Path else hint)


def _finite(value: float, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FieldError(path, f"expected a finite number, {_given(number)}")
    return number


def _given(value: Any, hint: Any = None) -> str:
    """What was seen, in the file's words, and a way out where there is one."""
    if value is None:
        return "found nothing"
    if isinstance(value, bool):
        return f"found {str(value).lower()}"
    if isinstance(value, Mapping):
        return "found a section: " + ", ".join(str(key) for key in value)
    if isinstance(value, list):
        return f"found a list of {len(value)}"
    if not isinstance(value, str):
        return f"found {value}" + ("; put it in quotes" if hint is str else "")
    shown = value if len(value) <= 40 else value[:37] + "..."
    if get_origin(hint) is Literal:
        return f"found {shown!r}" + suggestion(value, [str(c) for c in get_args(hint)])
    if get_origin(hint) is tuple:
        return f"found {shown!r}; write [{shown}]"
    return f"found {shown!r}"


def _hint(cls: type, key: object, path: str) -> str:
    """Did you mean the same word in a section below, or a neighbour?"""
    below = [p for p in leaf_paths(cls) if p.endswith(f".{key}")]
    if below:
        nearest = min(below, key=lambda found: found.count("."))
        return f"; did you mean {_join(path, nearest)}?"
    names = list(type_hints(cls))
    near = suggestion(key, names, prefix=f"{path}." if path else "")
    return near or f" (known: {', '.join(names)})"


def _is_required(field: dataclasses.Field) -> bool:
    return (
        field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    )


def is_union(hint: Any) -> bool:
    """Whether a hint allows several types."""
    return get_origin(hint) in (Union, types.UnionType)


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
