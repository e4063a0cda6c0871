"""Which engine runs a Beam pipeline: always one that is named.

Beam's bare ``DirectRunner`` first looks for a Go binary on the network and falls
back when there is none, so that runner, exceptions and metrics depend on the
machine. ``FnApiRunner`` is the same everywhere, so it is the default here.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components.engines.beam_worker import NO_ROOM, WithoutHints
from models.errors import FieldError, UserError

if TYPE_CHECKING:
    import apache_beam as beam

DEFAULT = "FnApiRunner"
PAIRS_THAT_PAY = 500_000
_OWN_CHOICE = {"--runner", "--direct_running_mode", "--direct_num_workers"}
_REFUSED = ("DirectRunner", "SwitchingDirectRunner")


logging.getLogger().addFilter(WithoutHints())


def check(options: Sequence[str], *, field: str = "beam_options") -> None:
    """Raises ``FieldError`` for options that Beam could not be given.

    Args:
      options: Command-line options of Beam, ``--name=value`` each.
      field: Where they stand in the configuration.
    """
    for option in options:
        if not option.startswith("--"):
            raise FieldError(
                field,
                f"{option!r} is not an option of Beam; expected --name=value, "
                "for example --direct_num_workers=2",
            )
        name, _, value = option.partition("=")
        if name == "--runner" and value in _REFUSED:
            raise FieldError(
                field,
                f"{value} would look for its engine on the network; "
                f"name one: --runner={DEFAULT}, DataflowRunner, FlinkRunner, ...",
            )


def with_workers(options: Sequence[str], pairs: int) -> tuple[str, ...]:
    """Options with one worker process for every core, where that pays.

    A worker takes some seconds to start and ships what it reads and writes, so the
    work of less than about half a million sentence pairs is done sooner in one
    process. Whoever names a runner, a mode or a number of workers gets that.

    Args:
      options: Options for Beam as they were given.
      pairs: About how many sentence pairs there are.
    """
    named = {option.split("=")[0] for option in options}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if pairs < PAIRS_THAT_PAY or cores < 2 or named & _OWN_CHOICE:
        return tuple(options)
    return (
        *options,
        "--direct_running_mode=multi_processing",
        f"--direct_num_workers={cores}",
    )


def workers(options: Sequence[str]) -> int:
    """Workers on this machine that options ask for; 1 where they do not say."""
    for option in options:
        name, _, value = option.partition("=")
        if name == "--direct_num_workers" and value.isdigit():
            return max(1, int(value))
    return 1


def pipeline(options: Sequence[str]) -> beam.Pipeline:
    """A Beam pipeline on the runner that the options name, else FnApiRunner.

    Raises:
      UserError: Beam does not accept the options: the runner needs others too.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    check(options)
    named = any(option.split("=")[0] == "--runner" for option in options)
    given = list(options) if named else [f"--runner={DEFAULT}", *options]
    try:
        told = PipelineOptions(given)
        if f"--runner={DEFAULT}" in given:
            from components.engines.beam_processes import LocalRunner

            return beam.Pipeline(runner=LocalRunner(), options=told)
        return beam.Pipeline(options=told)
    except ValueError as error:
        text = " ".join(str(error).split())
        raise UserError(f"beam_options: {' '.join(given)}: {text}") from error


@contextlib.contextmanager
def writing_to(output: Path) -> Iterator[None]:
    """Says in one line that there was no room for what a pipeline writes.

    Beam turns the error of a worker into a ``RuntimeError`` that quotes it.

    Raises:
      UserError: The disk is full, or a quota is used up.
    """
    everywhere = (*logging.getLogger().handlers, logging.lastResort)
    handlers = [handler for handler in everywhere if handler is not None]
    quiet = WithoutHints()
    for handler in handlers:
        handler.addFilter(quiet)
    try:
        yield
    except (OSError, RuntimeError) as error:
        for number in NO_ROOM:
            if f"[Errno {number}]" in str(error):
                raise UserError(
                    f"{output}: cannot be written: {os.strerror(number)}; make room or "
                    "choose another folder with --workdir"
                ) from error
        raise
    finally:
        for handler in handlers:
            handler.removeFilter(quiet)
