"""YAML text -> plain values, strictly and without YAML 1.1's surprises.

A language code is never a truth value (``no``), ``12:30`` is never 750, a date stays
text, and ``1e6`` is the number everybody means: whole when it is written without a
decimal point. A key that is written twice is an error instead of a silent choice.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from models.errors import UserError


class _Loader(yaml.SafeLoader):
    """``SafeLoader`` with the scalars of YAML's core schema."""

    yaml_implicit_resolvers: dict = {}


def _resolve(tag: str, pattern: str, first: str) -> None:
    compiled = re.compile(rf"^(?:{pattern})$")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", compiled, list(first))


_resolve("null", r"~|null|Null|NULL|", "~nN")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_resolve("bool", r"true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", r"[-+]?\d[\d_]*(?:[eE]\+?\d+)?", "-+0123456789")
_resolve(
    "float",
    r"[-+]?(?:\d[\d_]*\.\d*|\.\d+)(?:[eE][-+]?\d+)?"
    r"|[-+]?\d[\d_]*[eE]-\d+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^<<$"), ["<"])


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    mantissa, _, exponent = node.value.replace("_", "").lower().partition("e")
    if len(exponent) > 3:
        raise yaml.constructor.ConstructorError(
            None, None, f"the number {node.value} is too large", node.start_mark
        )
    return int(mantissa) * 10 ** int(exponent or 0)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict:
    """Anchors may be merged in (``<<``) and overridden; only twins are refused."""
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            problem = "a key must be a plain word"
        elif key in seen:
            problem = f"the key {key!r} is written twice"
        else:
            seen.add(key)
            continue
        raise yaml.constructor.ConstructorError(
            None, None, problem, key_node.start_mark
        )
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def parse(text: str, origin: str) -> Any:
    """The plain value that ``text`` describes.

    Args:
      text: YAML of one document.
      origin: Where the text comes from, for the error message.

    Raises:
      UserError: The text is not YAML, or a key is written twice.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{origin}:{mark.line + 1}" if mark else origin
        raise UserError(f"{where}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        message = " ".join(str(error).split())
        raise UserError(f"{origin}: not readable as YAML: {message}") from None
