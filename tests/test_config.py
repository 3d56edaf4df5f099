"""Settings: where each comes from, what outweighs what, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingot import NotConfiguredError, Retry
from ingot._config import SETTINGS, checked, resolve


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine, and a folder of its own."""
    for setting in SETTINGS.values():
        if setting.variable:
            monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.chdir(tmp_path)


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_nothing_set_is_nothing_resolved() -> None:
    """Defaults are the provider's business."""
    assert resolve({}).values == {}


def test_the_nearer_source_outweighs_the_farther(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call, then environment, then project file."""
    write(tmp_path, '[tool.ingot]\nmodel = "a/file"\nseed = 1\ntemperature = 0.5\n')
    monkeypatch.setenv("INGOT_MODEL", "a/environment")
    monkeypatch.setenv("INGOT_SEED", "2")
    found = resolve(checked({"model": "a/call"}))

    assert found.values == {"model": "a/call", "seed": 2, "temperature": 0.5}
    assert found.chosen == {"model", "temperature"}


def test_the_file_is_the_nearest_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pyproject.toml counts, though others stand higher."""
    write(tmp_path, "[tool.ingot]\nseed = 1\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)

    assert resolve({}).values == {"seed": 1}
    write(tmp_path / "a", "[project]\nname = 'x'\n")
    monkeypatch.chdir(tmp_path / "a")
    assert resolve({}).values == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.ingot]\nmodell = 'x'\n", r"no setting 'modell'; did you mean 'model'"),
        (
            "[tool.ingot]\nseed = 'x'\n",
            r"pyproject.toml: \[tool.ingot\] seed must be a whole number",
        ),
        ("[tool.ingot]\napi_key = 'x'\n", r"may not set api_key: .*INGOT_API_KEY"),
        ("[tool.ingot]\nbase_url = 'x'\n", r"may not set base_url"),
        ("[tool.ingot]\nparams = 'x'\n", r"params must be a mapping"),
        ("[tool]\ningot = 3\n", r"tool.ingot must be a table"),
        ("[tool.ingot\n", r"no valid TOML"),
        (f"[tool.ingot]\nseed = {'9' * 5000}\n", r"no valid TOML"),
        (f"x = {'[' * 50_000}{']' * 50_000}\n", r"no valid TOML"),
        ("[tool.ingot.params]\nx = 2026-01-01\n", r"params must be a mapping"),
        ("[tool.ingot.params]\nx = nan\n", r"params must be a mapping"),
        ("[tool.ingot]\ntimeout = 1e10\n", r"timeout must be a number above 0, and at most 2,000,"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path: Path, text: str, message: str) -> None:
    """Before any request."""
    write(tmp_path, text)

    with pytest.raises(NotConfiguredError, match=message):
        resolve({})


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("INGOT_SEED", "many", "INGOT_SEED must be of type int, not 'many'"),
        ("INGOT_MAX_TOKENS", "0", "INGOT_MAX_TOKENS must be a whole number of at least 1"),
        ("INGOT_CONSTRAIN", "loose", "INGOT_CONSTRAIN must be one of"),
        ("INGOT_TEMPERATURE", "nan", "INGOT_TEMPERATURE must be"),
        ("INGOT_MAX_TOKENS", "9" * 5000, "INGOT_MAX_TOKENS must be of type int, not '999"),
        ("INGOT_SYSTEM", "a\udcffb", "INGOT_SYSTEM must be a text that UTF-8 can hold"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, message: str
) -> None:
    """With what it should have been."""
    monkeypatch.setenv(variable, text)

    with pytest.raises(NotConfiguredError, match=message):
        resolve({})


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As shells leave them."""
    monkeypatch.setenv("INGOT_MODEL", "")

    assert resolve({}).values == {}


@pytest.mark.parametrize(
    ("call", "environment", "file", "meant"),
    [
        ({"model": "openai/a"}, {}, "", True),
        ({"model": "openai/a"}, {"INGOT_MODEL": "openai/b"}, "", True),
        ({"model": "anthropic/a"}, {"INGOT_MODEL": "openai/b"}, "", False),
        ({}, {"INGOT_MODEL": "openai/b"}, 'model = "x/y"', True),
        ({}, {}, 'model = "elsewhere/x"', False),
        ({}, {}, "", True),
    ],
)
def test_a_key_goes_only_where_it_was_meant_to(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: dict[str, Any],
    environment: dict[str, str],
    file: str,
    meant: bool,
) -> None:
    """A folder opened by chance, or a model of another vendor, does not get it."""
    write(tmp_path, f"[tool.ingot]\n{file}\n")
    for name, value in {**environment, "INGOT_API_KEY": "k"}.items():
        monkeypatch.setenv(name, value)

    assert ("api_key" in resolve(call).values) is meant


def test_a_retry_is_a_number_or_a_policy() -> None:
    """The number counts the further tries."""
    assert checked({"retry": 0})["retry"] == Retry(attempts=1)
    assert checked({"retry": Retry(attempts=5)})["retry"].attempts == 5


def test_what_enters_a_key_is_what_decides_the_answer() -> None:
    """Not how it is transported, tried or mended."""
    keyed = {name for name, setting in SETTINGS.items() if setting.keyed}

    assert keyed == {"model", "system", "max_tokens", "temperature", "seed", "params"}


@pytest.mark.parametrize("text", ["tool = 3", "tool = [1]", "[tool]", ""])
def test_a_file_without_our_table_says_nothing(tmp_path: Path, text: str) -> None:
    """Whatever else stands in it."""
    write(tmp_path, text)

    assert resolve({}).values == {}


def test_a_folder_that_is_gone_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory may be deleted under a process."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert resolve({}).values == {}


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, so it is not passed over."""

    def refused(self: Path, **_: Any) -> str:
        raise PermissionError(13, "Permission denied", str(self))

    write(tmp_path, "")
    monkeypatch.setattr(Path, "read_text", refused)

    with pytest.raises(NotConfiguredError, match=r"pyproject.toml cannot be read: Permission"):
        resolve({})


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("timeout", 10**400, "timeout must be a number above 0"),
        ("timeout", 1e10, "and at most 2,000,000"),
        ("temperature", 10**400, "temperature must be a number of at least 0"),
        ("params", {"x": object()}, "params must be a mapping"),
        ("params", {"x": {1}}, "params must be a mapping"),
        ("params", {"x": float("nan")}, "params must be a mapping"),
        ("params", {"x": "\ud800"}, "params must be a mapping"),
        ("model", "openai/\ud800", "model must be a text that UTF-8 can hold"),
        ("system", "\ud800", "system must be a text that UTF-8 can hold"),
    ],
)
def test_what_cannot_be_sent_is_of_the_wrong_kind(name: str, value: Any, wanted: str) -> None:
    """It is told where it is set, not from the middle of a request."""
    with pytest.raises(TypeError, match=wanted):
        checked({name: value})


@pytest.mark.parametrize("name", ["api_key", "base_url"])
def test_a_secret_of_the_wrong_kind_is_not_shown(name: str) -> None:
    """Neither in the message nor in what led to it."""
    with pytest.raises(TypeError) as caught:
        checked({name: "http://user:secret@host/\ud800"})
    seen: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        seen.append(repr(error.args))
        error = error.__context__

    assert [text for text in seen if "secret" in text] == []
