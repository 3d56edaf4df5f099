"""Settings of asks that act: what each may be, and where it may be set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ingot import (
    Budget,
    FileAccessError,
    NotConfiguredError,
    Policy,
    ToolDefinitionError,
    Workspace,
    ask,
    tool,
)
from ingot._acting_kinds import exceptions, tools, workspace
from ingot._config import SETTINGS, _read
from ingot.testing import Script

NAMES = ["tools", "deps", "workspace", "budget", "policy", "approve", "on_event", "raise_errors"]


def look() -> str:
    return "seen"


def untyped(x): ...


async def later(event: Any) -> None: ...


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("tools", look, "a list of functions and tools"),
        ("tools", [look, 1], "a list of functions and tools"),
        ("tools", {"look": look}, "a list of functions and tools"),
        ("tools", "look", "a list of functions and tools"),
        ("workspace", 1, "a Workspace, or the path of a folder"),
        ("workspace", "", "a Workspace, or the path of a folder"),
        ("budget", 3, "a Budget"),
        ("budget", {"turns": 3}, "a Budget"),
        ("policy", {"network": "allow"}, "a Policy"),
        ("approve", True, "a function"),
        ("approve", bool, "a function"),
        ("on_event", [], "a function"),
        ("on_event", later, "a plain function, as it is not awaited"),
        ("raise_errors", "yes", "True, False, or classes of exceptions"),
        ("raise_errors", ValueError(), "True, False, or classes of exceptions"),
        ("raise_errors", SystemExit, "True, False, or classes of exceptions"),
        ("raise_errors", (OSError, 1), "True, False, or classes of exceptions"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told(name: str, value: Any, wanted: str) -> None:
    """When it is set, not when it is used."""
    with pytest.raises(TypeError, match=f"^{name} must be {wanted}"):
        ask.using(**{name: value})  # type: ignore[misc]


def test_values_become_what_is_used() -> None:
    """Functions become tools, paths workspaces, and exceptions a tuple of classes."""
    made = tool(look)

    assert [each.name for each in tools([look, tool(look, name="other")])] == ["look", "other"]
    assert tools((made,)) == (made,)
    assert tools([]) == ()
    assert workspace(".").root == workspace(Path()).root == Path.cwd().resolve()
    assert [exceptions(value) for value in (True, False, OSError, (OSError, KeyError), ())] == [
        (Exception,),
        (),
        (OSError,),
        (OSError, KeyError),
        (),
    ]


def test_a_function_that_is_no_tool_is_refused_when_it_is_set() -> None:
    """And so are two of one name, and a folder that is not there."""
    with pytest.raises(ToolDefinitionError, match="parameter `x`"):
        ask.using(tools=[untyped])
    with pytest.raises(ToolDefinitionError, match="another tool has this name"):
        ask.using(tools=[look, tool(look)])
    with pytest.raises(FileAccessError, match="a workspace is a folder"):
        ask.using(workspace="/nowhere/at/all")


def test_objects_are_set_in_programs_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a variable nor a file can hold them, and a key is not changed by them."""
    for name in NAMES:
        setting = SETTINGS[name]
        assert (setting.variable, setting.file, setting.keyed) == (None, False, False)
        (tmp_path / "pyproject.toml").write_text(f'[tool.ingot]\n{name} = "x"\n')
        with pytest.raises(NotConfiguredError, match=rf"may not set {name}.*; pass {name}=…"):
            _read(tmp_path / "pyproject.toml")
        monkeypatch.setitem(os.environ, f"INGOT_{name.upper()}", "x")

    assert ask(int, "p", model=Script([1])) == 1


def test_a_call_outweighs_what_is_bound() -> None:
    """As for any setting; an empty list takes tools away."""
    script = Script([1, 2, 3])
    bound = ask.using(tools=[look], budget=Budget(turns=0), policy=Policy(), model=script)
    bound(int, "p", budget=Budget(turns=1))
    bound(int, "p", budget=Budget(turns=1), tools=[])
    bound(int, "p", budget=Budget(turns=1), tools=None)

    assert [[each.name for each in heard.tools] for heard in script.heard] == [
        ["look"],
        [],
        ["look"],
    ]


def test_the_folder_is_that_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace is found when it is set, and a default one when it is asked."""
    bound = ask.using(workspace=Workspace(tmp_path))
    monkeypatch.chdir("/")

    assert f"workspace=<Workspace {str(tmp_path)!r}>" in repr(bound)
