"""The shape of the house: imports go down only, rooms stay small, starts stay light."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("models", "components", "pipeline")
HEAVY = (
    "tensorflow",
    "keras",
    "apache_beam",
    "kfp",
    "sentencepiece",
    "sacrebleu",
    "ctranslate2",
)
HOMELESS = ("utils", "util", "helpers", "helper", "common", "misc")
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60


def _files(*folders: str) -> list[Path]:
    return sorted(path for f in folders for path in (ROOT / f).rglob("*.py"))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _modules() -> dict[str, Path]:
    return {_module(path): path for path in _files(*FLOORS)}


def _is_for_types(node: ast.AST) -> bool:
    """Whether this is ``if TYPE_CHECKING:``, whose body never runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _nodes(node: ast.AST, *, deferred: bool) -> Iterator[ast.AST]:
    """All nodes that run; without ``deferred``, only those that run on import."""
    for child in ast.iter_child_nodes(node):
        if _is_for_types(child):
            continue
        yield child
        is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        if deferred or not is_function:
            yield from _nodes(child, deferred=deferred)


@functools.cache
def _imports(module: str, deferred: bool = True) -> frozenset[str]:
    """Full names of the modules that ``module`` imports, directly."""
    tree = ast.parse(_modules()[module].read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in _nodes(tree, deferred=deferred):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = names & set(_modules())
            found.update(submodules)
            if len(submodules) < len(names):
                found.add(node.module)
    return frozenset(found)


def _loaded_by(start: str) -> set[str]:
    """Everything that ``import start`` loads, of ours and of others."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in _modules():
            waiting.extend(_imports(name, deferred=False))
            waiting.append(name.rpartition(".")[0] or name)
    return seen


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.parametrize("module", _modules())
def test_imports_go_down_only(module):
    allowed = FLOORS[: FLOORS.index(_top(module)) + 1]
    above = {i for i in _imports(module) if _top(i) in set(FLOORS) - set(allowed)}
    assert not above, f"{module} is on the floor below {above}"


@pytest.mark.parametrize("module", [m for m in _modules() if m.startswith("models")])
def test_models_are_pure(module):
    imported = {_top(name) for name in _imports(module)}
    assert "tensorflow" not in imported
    outside = imported - set(sys.stdlib_module_names) - {"models"}
    if module.startswith("models.nmt"):
        assert outside <= {"numpy", "keras", "keras_hub"}
    else:
        assert outside <= {"numpy", "scipy"}


def test_laws_and_translation_models_do_not_know_each_other():
    for module in _modules():
        for here, there in (("nmt", "laws"), ("laws", "nmt")):
            if module.startswith(f"models.{here}"):
                imported = _imports(module)
                assert not any(i.startswith(f"models.{there}") for i in imported)


def test_there_is_no_import_cycle():
    """Not even one that hides inside functions."""
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module in finished or module not in _modules():
            return
        # A package's own module that re-exports its parts is above them.
        for imported in sorted(_imports(module) - {module}):
            visit(imported, (*path, module))
        finished.add(module)

    for module in _modules():
        visit(module, ())


@pytest.mark.parametrize(
    "module",
    [
        *(f"components.{verb}" for verb in
          ("ingest", "select", "tokenize", "train", "evaluate", "fit", "recommend",
           "report")),
        "models.laws",
        "models.nmt.sizes",
        "pipeline.cli",
        "pipeline.steps",
        "pipeline.local_runner",
        "pipeline.plan",
        # What looks at a finished artifact: a run that is done starts no engine.
        "components.ingest.step",
        "components.select.step",
        "components.train.sweep",
        "components.fit.step",
        "components.recommend.decision",
    ],
)  # fmt: skip
def test_importing_a_step_loads_no_engine(module):
    heavy = {name for name in _loaded_by(module) if _top(name) in HEAVY}
    assert not heavy


@pytest.mark.parametrize("room", ["fit", "recommend", "report"])
def test_laws_never_need_an_engine_even_later(room):
    for module in _modules():
        if module.startswith(f"components.{room}"):
            assert not {i for i in _imports(module) if _top(i) in HEAVY}


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from pipeline.cli import build_parser\n"
        "build_parser().format_help()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not loaded & {*HEAVY, "numpy", "scipy", "matplotlib", "yaml", "pyarrow"}


@pytest.mark.parametrize("path", _files(*FLOORS, "tests", "benchmarks"), ids=_shown)
def test_rooms_are_small(path):
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    assert lines <= MAX_FILE_LINES, f"{path}: {lines} lines"
    assert path.stem not in HOMELESS, f"{path}: name what it is about"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name}: {length} lines"


def test_every_test_mirrors_a_room():
    """``tests/components/fit/...`` is about ``components/fit``."""
    for path in _files("tests"):
        if not path.name.startswith("test_"):
            continue
        parts = path.parent.relative_to(ROOT / "tests").parts
        folder = Path(*parts[1:] if parts[:1] == ("peers",) else parts)
        assert (ROOT / folder).is_dir(), f"{path}: no such room {folder}"


def test_tests_need_nothing_from_outside():
    """What needs other libraries or real text is in ``tests/peers``."""
    for path in _files("tests"):
        if "peers" in path.relative_to(ROOT).parts or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        for sign in ("importorskip", "shared/data", '/ "shared"'):
            assert sign not in text, f"{path}: {sign}; move it to tests/peers"
