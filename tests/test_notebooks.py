"""
The notebooks of the documentation: their cells run as written, and print what is stored below them.

What a notebook asks is replayed from the recording that it names, which stands beside it. `make
record` records it anew and stores what the cells print: it asks the local model, or a script where
there are replies below.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import os
import shutil
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ingot import Cassette
from ingot.testing import Script, calls, no_network

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


REPLIES: dict[str, list[Any]] = {
    "tool-chain": [
        calls(measure={"city": "Bern", "year": 2028}),
        calls(monthly={"measurements": {"path": "bern-2028.csv"}}),
        {
            "warmest_month": "July",
            "celsius": 19.9,
            "table": {"path": "bern-2028-monthly.csv"},
        },
    ]
}
"""Said in place of the local model while recording, for it calls no tools; said in the notebook."""


def text(lines: str | list[str]) -> str:
    """The text of a source or an output, which may be a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any]) -> str:
    return "".join(text(output["text"]) for output in cell["outputs"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(
    path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each cell prints what is stored below it, without network, key or model."""
    refresh = pytestconfig.getoption("--ingot") == "refresh"
    notebook = json.loads(path.read_text("utf-8"))
    for file in FOLDER.glob("*.json"):
        shutil.copyfile(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INGOT_")]:
        monkeypatch.delenv(name)
    if refresh:
        record(path, notebook)
    with no_network():
        printed = perform(path, notebook)
    if refresh:
        finish(path, notebook, printed)

    for cell in code_cells(notebook):
        told = f"{path.name}: {cell['id']}; `make record` stores it"
        assert printed[cell["id"]] == stored(cell), told


def record(path: Path, notebook: dict[str, Any]) -> None:
    """Ask anew what the notebook asks."""
    scripted = Script(REPLIES[path.stem]) if path.stem in REPLIES else nullcontext()
    with pytest.MonkeyPatch.context() as patch, no_network(loopback=True), scripted:
        patch.setenv("INGOT_CASSETTE_MODE", "refresh")
        patch.setenv("INGOT_MODEL", "local/smollm2")
        perform(path, notebook)


def perform(path: Path, notebook: dict[str, Any]) -> dict[str, str]:
    """Run the cells from top to bottom, and return what each prints."""
    module = ModuleType(path.stem.replace("-", "_"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        printed = {
            cell["id"]: run(text(cell["source"]), path.name, module)
            for cell in code_cells(notebook)
        }
    for value in module.__dict__.values():
        if isinstance(value, Cassette):
            value.close()  # as the end of the program would
    return printed


def run(source: str, where: str, module: ModuleType) -> str:
    """Run one cell, which may await; return what it prints."""
    code = compile(source, where, "exec", dont_inherit=True, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with redirect_stdout(io.StringIO()) as printed:
        result = eval(code, module.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(result)
    return printed.getvalue()


def finish(path: Path, notebook: dict[str, Any], printed: dict[str, str]) -> None:
    """Write the notebook with what its cells *printed*, and what it recorded."""
    for cell in code_cells(notebook):
        lines = printed[cell["id"]].splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        cell["outputs"] = [stream] if lines else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for file in Path().glob("*.json"):
        shutil.copyfile(file, FOLDER / file.name)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_file_is_in_order(path: Path) -> None:
    """It is a notebook of version 4.5 whose cells ran from top to bottom, without an error."""
    notebook = json.loads(path.read_text("utf-8"))
    cells = notebook["cells"]

    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in cells}) == len(cells)
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    kinds = {output["output_type"] for cell in code_cells(notebook) for output in cell["outputs"]}
    assert kinds <= {"stream"}, "cells print what they show, so that it can be compared as it is"


def test_recordings_are_of_notebooks() -> None:
    """None is left of a notebook that is gone, and none is missing."""
    named = "".join(path.read_text("utf-8") for path in NOTEBOOKS)

    assert all(f'{file.name}\\"' in named for file in FOLDER.glob("*.json"))
    assert set(REPLIES) <= {path.stem for path in NOTEBOOKS}
