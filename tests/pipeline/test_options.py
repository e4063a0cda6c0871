"""Options from the fields of dataclasses: what they say, read and refuse."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from models.errors import FieldError, UserError
from pipeline import cli, options
from pipeline.options import Call, option, options_of


@dataclasses.dataclass(frozen=True)
class Inner:
    """Inside.

    Attributes:
      scale, shift: In percent
        of the whole.
      sizes: Names.
    """

    scale: float = 1.0
    shift: int = 0
    sizes: tuple[str, ...] = ("s", "m")

    def __post_init__(self) -> None:
        if self.scale < 0:
            raise FieldError("scale", f"{self.scale:g}; expected 0 or more")


@dataclasses.dataclass(frozen=True)
class Config:
    """What is configured.

    Attributes:
      kind: Which one.
      inner: A section.
      careful: Look twice.
    """

    kind: Literal["first", "second"] = "first"
    inner: Inner = Inner()
    careful: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """Does something.

      an example

    Attributes:
      source: Where from.
      weights: Of the tasks.
      mixtures: To leave out.
      words: With commas in them.
      config: How.
    """

    source: Path = option("FILE", positional=True)
    weights: Mapping[str, float] = option(default_factory=dict)
    mixtures: tuple[float | Mapping[str, float], ...] = ()
    words: tuple[str, ...] = option("WORD", default=(), flag="--word", split=False)
    config: Config = options_of(Config, flags={"inner.sizes": "--size"})


def parse(*words: str) -> tuple[Command, Call]:
    parser = cli.Parser(prog="does")
    options.add_options(parser, Command)
    return options.build(Command, "does", parser.parse_args(words))


def test_what_is_left_out_is_the_default():
    command, call = parse("a.csv")
    assert command == Command(source=Path("a.csv"))
    assert call == Call("does")


def test_values_take_the_types_of_their_fields():
    command, call = parse(
        "a.csv", "--weights", "en-de=2,en-fr=.5", "--weights", "en-zh=1e2",
        "--mixtures", "0.3", "--mixtures", "en-de=0.2,en-fr=0.8",
        "--word", "a,b", "--word", "c", "--kind", "second", "--size", "l,xl",
        "--inner-shift", "2e3", "--no-careful",
    )  # fmt: skip
    assert command == Command(
        source=Path("a.csv"),
        weights={"en-de": 2.0, "en-fr": 0.5, "en-zh": 100.0},
        mixtures=(0.3, {"en-de": 0.2, "en-fr": 0.8}),
        words=("a,b", "c"),
        config=Config(
            kind="second", inner=Inner(shift=2000, sizes=("l", "xl")), careful=False
        ),
    )
    with pytest.raises(UserError, match="^--no-careful: does not apply; of the moon"):
        call.refuse("--inner-scale", "--no-careful", because="of the moon")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "the following arguments are required: FILE"),
        ("a --kind secnd", "--kind: expected one of first, second, found 'secnd'; did"),
        ("a --inner-shift 2.5", "--inner-shift: expected a whole number, found 2.5"),
        ("a --inner-scale -1", "--inner-scale: -1; expected 0 or more"),
        ("a --inner-scale nan", "--inner-scale: expected a finite number, found nan"),
        ("a --weights a=1,a=2", "--weights: a is named twice"),
        ("a --weights a=1 --weights a=2", "--weights: a is named twice"),
        ("a --weights a", "--weights: cannot read 'a'; expected NAME=X,..."),
        ("a --weights a=b", "--weights a: expected a number, found 'b'"),
        ("a --mixtures b", "--mixtures: expected a number or a mapping"),
    ],
)
def test_a_mistake_names_its_option(words, message):
    with pytest.raises(UserError) as caught:
        parse(*words.split())
    assert str(caught.value).startswith(message)


def test_the_help_is_that_of_the_docstrings():
    parser = argparse.ArgumentParser()
    options.add_options(parser, Command)
    text = " ".join(parser.format_help().split())
    assert options.description(Command) == "Does something.\n\n  an example\n\n"
    for part in (
        "FILE Where from",
        "--weights NAME=X,... Of the tasks",
        "--kind {first,second} Which one (default: first)",
        "--inner-scale X In percent of the whole. (default: 1)".replace(". (", " ("),
        "--size NAME,... Names (default: s,m)",
        "--no-careful Look twice",
    ):
        assert part in text


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_option_of_every_command_is_explained(name):
    known = options.list_options(cli.command_class(name))
    assert [one.path for one in known if not one.help] == []
    flags = [one.flag for one in known if one.flag]
    assert len(set(flags)) == len(flags)
