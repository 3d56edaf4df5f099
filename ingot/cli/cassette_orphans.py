"""Cassettes that no test has any more, found by reading the tests, not by importing them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ingot.cassette.errors import CassetteError
from ingot.cli import show
from ingot.cli.cassette_files import opened

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["show_orphans"]

_ROOTS = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", ".git")
_HASH = re.compile(r"-[0-9a-f]{6}$")
_ANY = "*"
_CUT = 80


def show_orphans(files: Iterable[Path], base: Path, *, whole: bool) -> bool:
    """
    Print the files that belong to no test.

    Args:
        files: The cassettes.
        base: The folder of the cassettes, below which the folders of test modules are.
        whole: Print it as JSON.

    Returns:
        Whether there are none.
    """
    root = _root(base)
    found = [(path, why) for path in files if (why := _orphaned(path, base, root)) is not None]
    if whole:
        show.tree([{"file": str(path), "why": why} for path, why in found])
    else:
        for path, why in found:
            show.prose(f"{path}: {why}; rename it after its test, or remove it: git rm {path}")
        if not found:
            show.prose("every cassette has a test")
    return not found


def _root(base: Path) -> Path:
    """The folder from which node ids count."""
    whole = base.resolve()
    for folder in (whole, *whole.parents):
        if any((folder / name).exists() for name in _ROOTS):
            return folder
    return Path.cwd()


def _orphaned(path: Path, base: Path, root: Path) -> str | None:
    """Say why a file has no test; None where it has one, or that cannot be told."""
    try:
        told = opened(path).rest
    except CassetteError:
        told = {}  # the name of the file says it, too; `check` says what is wrong with it
    test = told.get("test")
    if isinstance(test, str):
        module, _, node = test.partition("::")
        if not (root / module).exists():
            return f"its test module {module} is not there"
        if not node or "fixture" in told:
            return None
        names = _names(root / module)
        wanted = node.partition("[")[0].replace("::", ".")
        return None if _has(names, wanted) else f"{module} has no test {wanted}"
    return _by_name(path, base, root)


def _by_name(path: Path, base: Path, root: Path) -> str | None:
    way = PurePosixPath(path.resolve().relative_to(base.resolve()).as_posix())
    if len(way.parts) < 2 or way.parts[0] == "_outside":
        return None  # a cassette that several tests share by its name
    bare = _HASH.sub("", str(way.parent))
    places = (base.resolve().parent, root)
    file = next(
        (
            f
            for place in places
            for name in (str(way.parent), bare)
            if (f := place / f"{name}.py").is_file()
        ),
        None,
    )
    if file is None:
        if any((place / str(way.parent)).is_dir() for place in places):
            return None  # of a fixture of a folder
        return f"there is no test module {way.parent}.py"
    stem = _HASH.sub("", way.stem)
    if stem.startswith(("fixture-", "module-")):
        return None
    head = stem.partition("-")[0]
    names = _names(file)
    if any(
        _slug(name) == head or (len(head) >= _CUT - 1 and _slug(name).startswith(head))
        for name in names
    ):
        return None
    return None if _has(names, head) else f"{file.name} has no test {head}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)


def _has(names: frozenset[str], wanted: str) -> bool:
    """Whether a test is there, or may be: what a class inherits is not seen."""
    if wanted in names:
        return True
    owner = wanted.rpartition(".")[0]
    return f"{owner}.{_ANY}" in names if owner else _ANY in names


@cache
def _names(file: Path) -> frozenset[str]:
    """All functions of a file by their way, such as `TestA.test_b`; `*` where more may be there."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset({_ANY})
    found: set[str] = set()
    _collect(tree.body, "", found)
    return frozenset(found)


def _collect(body: list[ast.stmt], prefix: str, found: set[str]) -> None:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(prefix + node.name)
            case ast.ClassDef():
                found.add(prefix + node.name)
                if node.bases:
                    found.add(f"{prefix}{node.name}.{_ANY}")
                _collect(node.body, f"{prefix}{node.name}.", found)
            case ast.Assign():
                found.update(prefix + t.id for t in node.targets if isinstance(t, ast.Name))
            case ast.Import() | ast.ImportFrom():
                found.update(prefix + (a.asname or a.name) for a in node.names)
            case ast.If() | ast.For() | ast.While():
                _collect([*node.body, *node.orelse], prefix, found)
            case ast.With() | ast.AsyncWith():
                _collect(node.body, prefix, found)
            case ast.Try():
                caught = [statement for h in node.handlers for statement in h.body]
                _collect([*node.body, *node.orelse, *node.finalbody, *caught], prefix, found)
            case _:
                pass
