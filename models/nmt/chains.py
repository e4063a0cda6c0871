"""Chains of elementwise operations, compiled as one where that pays.

A backend that launches operations one by one passes over memory for each of them. In
bfloat16 on a CPU these passes cost as much as the matrix products. A chain is a plain
function of tensors; whoever traces the model may say what compiles it (XLA, with
TensorFlow). Without a word it runs as it is written, which is right wherever the whole
step is compiled.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator

Compiler = Callable[[Callable], Callable]

_compiler: contextvars.ContextVar[Compiler | None] = contextvars.ContextVar(
    "compiler", default=None
)


def chain(function: Callable) -> Callable:
    """Marks a function of tensors that a compiler may turn into one operation.

    It closes over no tensors and is not differentiated through: what needs a gradient
    has one of its own (`keras.ops.custom_gradient`), itself a chain.
    """

    @functools.wraps(function)
    def call(*arguments):
        compiler = _compiler.get()
        return (compiler(function) if compiler else function)(*arguments)

    return call


@contextlib.contextmanager
def compiled_by(compiler: Compiler | None) -> Iterator[None]:
    """Within, chains run as what ``compiler`` makes of them.

    Args:
      compiler: Is given each chain's function whenever it is called, and may cache
        what it returns; None leaves chains as they are.
    """
    token = _compiler.set(compiler)
    try:
        yield
    finally:
        _compiler.reset(token)


def the_upstream(positional: tuple, named):
    """What a function of `keras.ops.custom_gradient` is handed as upstream gradient.

    TensorFlow and JAX hand it over by position, PyTorch by name.
    """
    return positional[0] if named is None else named
