"""Options of the command line, from the fields of dataclasses.

A command is a frozen dataclass: its docstring explains the command, its fields are the
options, with their names, types and defaults, and with the help that the docstring's
``Attributes`` give. A field that is itself a dataclass, such as a step's ``Config``,
brings the options of its own fields. So a default is written once, and what a file may
say and what the command line may say are the same::

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Predict:
        '''Predicted losses of a model.

        Attributes:
          laws: The file that `fit` wrote.
          n: Non-embedding parameters of the model.
        '''

        laws: Path = option("LAWS.json", positional=True)
        n: float = option("N")
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from models.errors import FieldError, UserError
from pipeline import loader

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_METADATA = "polyscale.option"
_METAVARS = {int: "K", float: "X", str: "NAME", Path: "PATH"}


@dataclasses.dataclass(frozen=True)
class _Details:
    """What a field says about its option beside its name, type and default."""

    metavar: str = ""
    flag: str = ""
    positional: bool = False
    split: bool = True
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    only: Collection[str] = ()


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes:
      path: Dotted path of its field in the command, ``config.draws``.
      flag: ``--draws``; empty for a positional argument.
      hint: Type of the value, without ``None``.
      default: Its default; ``MISSING`` where a value is required.
      help: What it means.
      metavar: What stands for the value in the help.
      split: Whether a list may be written with commas.
    """

    path: str
    flag: str
    hint: Any
    default: Any
    help: str
    metavar: str
    split: bool

    @property
    def repeats(self) -> bool:
        """Whether it may be given several times."""
        return typing.get_origin(self.hint) in (tuple, loader.MAPPING)


@dataclasses.dataclass(frozen=True)
class Call:
    """How a command was called.

    Attributes:
      command: Its name.
      given: The flags on the command line, as opposed to those left at their default.
    """

    command: str
    given: frozenset[str] = frozenset()

    def refuse(self, *flags: str, because: str) -> None:
        """Raises ``UserError`` if one of these options was given."""
        for flag in flags:
            if flag in self.given:
                raise UserError(f"{flag}: does not apply; {because}")


def option(
    metavar: str = "",
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    flag: str = "",
    positional: bool = False,
    split: bool = True,
) -> Any:
    """A field of a command with more to say than its name and type.

    Args:
      metavar: What stands for the value in the help.
      default, default_factory: As of every field.
      flag: The option's name, where it is not the field's.
      positional: Whether the value stands without a flag.
      split: Whether commas separate the items of a list.
    """
    details = _Details(metavar=metavar, flag=flag, positional=positional, split=split)
    metadata = {_METADATA: details}
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def options_of(
    cls: type, *, only: Collection[str] = (), flags: Mapping[str, str] | None = None
) -> Any:
    """A field of a command that holds a configuration and brings its options.

    Args:
      cls: The configuration.
      only: Its fields that become options; all of them when empty.
      flags: Dotted path of a field -> name of its option, where it is not the field's.
    """
    details = _Details(only=only, flags=flags or {})
    return dataclasses.field(default_factory=cls, metadata={_METADATA: details})


def list_options(cls: type) -> list[Option]:
    """The options of a command, in the order of its fields."""
    return list(_options(cls))


def description(cls: type) -> str:
    """What a command's docstring says before its attributes."""
    return inspect.cleandoc(cls.__doc__ or "").partition("\nAttributes:")[0] + "\n"


def add_options(parser: argparse.ArgumentParser, cls: type) -> None:
    """Adds the options of a command to its parser."""
    for one in list_options(cls):
        keywords: dict[str, Any] = {"help": _help(one), "default": argparse.SUPPRESS}
        if one.hint is bool:
            keywords |= {"action": "store_const", "const": not one.default}
        else:
            keywords["metavar"] = one.metavar
        if one.repeats:
            keywords |= {"action": "append"} if one.flag else {"nargs": "+"}
        if not one.flag:
            parser.add_argument(one.path, **keywords)
        else:
            required = one.default is dataclasses.MISSING
            parser.add_argument(one.flag, dest=one.path, required=required, **keywords)


def build(cls: type[T], name: str, arguments: argparse.Namespace) -> tuple[T, Call]:
    """The command that parsed arguments describe, and how it was called.

    Raises:
      UserError: A value that cannot be used; the message begins with its option.
    """
    known = list_options(cls)
    present = [one for one in known if one.path in arguments]
    given = frozenset(one.flag for one in present if one.flag)
    values: dict[str, Any] = {}
    try:
        for one in present:
            *above, last = one.path.split(".")
            section = values
            for key in above:
                section = section.setdefault(key, {})
            section[last] = _read(getattr(arguments, one.path), one)
        return loader.build(cls, values), Call(name, given)
    except FieldError as error:
        raise UserError(f"{_named(error.field, known)}: {error.problem}") from None


def _options(
    cls: type, prefix: str = "", inner: str = "", whole: _Details | None = None
) -> Iterator[Option]:
    """Options of a command, or of a configuration in a field of one.

    Args:
      cls: The command or the configuration.
      prefix: Path to it in the command, with its dot.
      inner: Path to it in the configuration, with its dot.
      whole: What the command says about the configuration.
    """
    docs = _attribute_docs(cls)
    hints = loader.type_hints(cls)
    for field in dataclasses.fields(cls):
        own = field.metadata.get(_METADATA, _Details())
        hint = _without_none(hints[field.name])
        path = f"{inner}{field.name}"
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            below = (f"{path}.", whole) if whole else ("", own)
            yield from _options(hint, f"{prefix}{field.name}.", *below)
            continue
        if whole and whole.only and path not in whole.only:
            continue
        default = _default(field)
        negative = "no-" if default is True else ""
        flag = f"--{negative}{re.sub(r'[._]', '-', path)}"
        if whole:
            flag = whole.flags.get(path, flag)
        yield Option(
            path=f"{prefix}{field.name}",
            flag="" if own.positional else own.flag or flag,
            hint=hint,
            default=default,
            help=docs.get(field.name, ""),
            metavar=own.metavar or _metavar(hint),
            split=own.split,
        )


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _attribute_docs(cls: type) -> dict[str, str]:
    """Field -> what the ``Attributes`` of the class, or of one above it, say."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if "__doc__" not in vars(each) or not dataclasses.is_dataclass(each):
            continue
        text = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")[2]
        entry = r"^  (\w[\w, ]*): (.*(?:\n    .*)*)"
        for names, words in re.findall(entry, text, re.MULTILINE):
            help_text = " ".join(words.split()).replace("``", "")
            found |= {name.strip(): help_text for name in names.split(",")}
    return found


def _help(one: Option) -> str:
    text = one.help.rstrip(".")
    has_default = one.default is not dataclasses.MISSING and one.hint is not bool
    if has_default and one.default not in (None, "", (), {}):
        shown = one.default
        if isinstance(shown, tuple):
            shown = ",".join(str(item) for item in shown)
        elif isinstance(shown, float):
            shown = f"{shown:g}"
        text += f" (default: {shown})"
    return text.replace("%", "%%")


def _metavar(hint: Any) -> str:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "WHAT" if len(inside) > 4 else "{" + ",".join(map(str, inside)) + "}"
    if origin is tuple:
        item = _metavar(inside[0])
        return item if item.endswith("...") else f"{item},..."
    if origin is loader.MAPPING:
        return f"NAME={_metavar(inside[1])},..."
    if loader.is_union(hint):
        return _metavar(inside[-1])
    return _METAVARS.get(hint, "")


def _read(value: Any, one: Option) -> Any:
    """What was written for an option, as the plain value that a file would hold."""
    if not isinstance(value, list):
        return _plain(value, one.hint, one)
    inside = typing.get_args(one.hint)
    if typing.get_origin(one.hint) is loader.MAPPING:
        return _pairs(",".join(filter(str.strip, value)), inside[1], one)
    whole = not one.split or loader.is_union(inside[0])
    words = value if whole else [word.strip() for v in value for word in v.split(",")]
    return [_plain(word, inside[0], one) for word in words if word]


def _plain(text: Any, hint: Any, one: Option) -> Any:
    """A word as the value that the hint asks for; unchanged where it is none."""
    if loader.is_union(hint):
        mapping, *_ = (m for m in typing.get_args(hint) if typing.get_origin(m))
        if "=" in text:
            return _pairs(text, typing.get_args(mapping)[1], one)
        hint = float
    if hint not in (int, float) or not isinstance(text, str):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if hint is int and number.is_integer() else number


def _pairs(text: str, hint: Any, one: Option) -> dict[str, Any]:
    """``en-de=2,en-zh=1`` -> values by name."""
    found: dict[str, Any] = {}
    for part in text.split(",") if text.strip() else ():
        name, relation, value = (piece.strip() for piece in part.partition("="))
        if not name or not relation or not value:
            raise FieldError(
                one.path, f"cannot read {part.strip()!r}; expected {_metavar(one.hint)}"
            )
        if name in found:
            raise FieldError(one.path, f"{name} is named twice")
        found[name] = _plain(value, hint, one)
    return found


def _named(field: str, known: list[Option]) -> str:
    """The option of a field: ``config.prefer.en-de`` -> ``--prefer en-de``."""
    for one in known:
        if found := re.fullmatch(rf"{re.escape(one.path)}(?:\[\d+\]|\.(.*))?", field):
            return " ".join(filter(None, (one.flag or one.metavar, found[1])))
    return field


def _without_none(hint: Any) -> Any:
    if loader.is_union(hint) and types.NoneType in typing.get_args(hint):
        rest = [m for m in typing.get_args(hint) if m is not types.NoneType]
        return rest[0] if len(rest) == 1 else hint
    return hint
