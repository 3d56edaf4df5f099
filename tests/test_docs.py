"""
The documentation: every Python block runs, every table equals the code, every link leads somewhere.

What a block asks is answered from the recording of its page, `cassettes/docs/<page>.json`, which
`make record` makes with the local model. What a block records by itself is kept beside it, in
`cassettes/docs/<page>/`, and is there when the block runs.

A page of Markdown says in comments, which no reader sees, what its blocks need beside that:

    <!-- replies (reason): [1, 2] -->     a script replies to the next Python block, for a reason;
                                          the value is a Python expression in the page's names
    <!-- as: anthropic -->                as whom scripts reply from here to the end of the page
    <!-- before: code -->                 Python that runs before the next block
    <!-- not run: reason -->              the next block is not run
    <!-- shows: heard[-1].user_text() --> what the next text block is; `heard` are the requests of
                                          the Python block before
    <!-- file: provider.py -->            the next block is the file of that name, a program that
                                          can be run; blocks after it find it in their folder

What a block prints is what its `# >` lines say, or the `text` block that follows it.
"""

from __future__ import annotations

import ast
import asyncio
import datetime
import functools
import inspect
import io
import ipaddress
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
import uuid
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
import typer.main
from pydantic import AnyUrl, EmailStr, Field

import ingot.errors
import ingot.events
import ingot.exec
import ingot.provider
import ingot.rill
import ingot.testing
import ingot.typenames
from ingot import Cassette, Response, Usage, ask
from ingot._config import SETTINGS, _read
from ingot._shape.shape import shape_of
from ingot.cassette import errors as cassette_errors
from ingot.cli.commands import app
from ingot.cli.exits import meanings
from ingot.errors import IngotError, ProviderError, UnsupportedTypeError
from ingot.provider import Request
from ingot.testing import Script, Value, no_network

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
RECORDINGS = ROOT / "cassettes" / "docs"
MOST_NOT_RUN = 4
MOST_SCRIPTED = 10

IN_CI = bool(os.environ.get("CI"))
LANGUAGES = {"python", "text", "console", "toml", "json"}
PROGRAMS = {"bash": ("bash", "jq"), "javascript": ("node",)}
"""Languages of files that pages show, and what runs them."""

MODULES = (
    ingot,
    ingot.events,
    ingot.exec,
    ingot.provider,
    ingot.rill,
    ingot.testing,
    ingot.typenames,
)
STAND_INS = {"openai": "openai", "openai-chat": "openai", "anthropic": "anthropic", "local": "open"}
OWN_VARIABLES = {
    "INGOT_MODEL_DIR",
    "INGOT_LOCAL_MODEL",
    "INGOT_LOCAL_PORT",
    "INGOT_CASSETTE_MODE",
    "INGOT_CASSETTE_LEDGER",
}
VENDOR_VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)


@dataclass
class Block:
    """A fenced block, and what the comments before it say."""

    language: str
    line: int
    code: str = ""
    replies: str | None = None
    why_scripted: str = ""
    before: list[str] = field(default_factory=list)
    stand_in: str | None = None
    not_run: str | None = None
    output: str | None = None
    shows: list[str] = field(default_factory=list)
    file: str | None = None

    @property
    def printed(self) -> str:
        """What it says that it prints."""
        if self.output is not None:
            return self.output
        lines = re.findall(r"^[ \t]*# ?>(?: (.*))?$", self.code, re.MULTILINE)
        return "".join(f"{line}\n" for line in lines)


_COMMENT = re.compile(
    r"<!--\s*(replies|as|before|not run|shows|file)(?: \(([^)]+)\))?:(.*?)-->", re.DOTALL
)
_FENCE = re.compile(r"^```([\w-]*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    found: list[Block] = []
    marks: dict[str, list[str]] = {
        name: [] for name in ("replies", "before", "not run", "shows", "file")
    }
    stand_in: str | None = None
    why = ""
    last = 0
    for fence in _FENCE.finditer(text):
        between = text[last : fence.start()]
        for word, reason, value in _COMMENT.findall(between):
            why = reason or why
            if word == "as":
                stand_in = value.strip()
            else:
                marks[word].append(inspect.cleandoc(value))
        last = fence.end()
        line = text.count("\n", 0, fence.start()) + 1
        block = Block(fence[1], line, fence[2])
        if block.language == "text" and found and not between.strip():
            found[-1].output = block.code
        if marks["file"]:
            block.file = marks["file"].pop().strip()
        elif block.language == "python":
            block.replies, block.before = next(iter(marks["replies"]), None), marks["before"]
            block.why_scripted, why = why, ""
            block.stand_in, block.not_run = stand_in, "; ".join(marks["not run"]) or None
            marks.update({"replies": [], "before": [], "not run": []})
        elif block.language == "text":
            block.shows, marks["shows"] = marks["shows"], []
        found.append(block)
    assert not any(marks.values()), f"{page}: comments at the end belong to no block: {marks}"
    return found


def python_blocks(page: Path) -> list[Block]:
    return [b for b in blocks_of(page) if b.language == "python" and b.file is None]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# Blocks


class Recording(Cassette):
    """The recording of one page; it keeps the requests that were asked of it."""

    def __init__(self, page: Path, mode: str) -> None:
        way = page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).with_suffix("")
        path = RECORDINGS / f"{way}.json"
        super().__init__(path, mode, unused="fail", stream="recorded")
        self.automatic = True  # a block that asks a provider of its own is not recorded
        self.own = RECORDINGS / way
        self.heard: list[Request] = []

    def begin(self, request: Request, site: str, find: Any) -> Any:
        self.heard.append(request)
        return super().begin(request, site, find)

    def lay_out(self, folder: Path) -> None:
        """Put what the page's blocks recorded by themselves where they look for it."""
        if self.own.is_dir() and self.mode != "refresh":
            shutil.copytree(self.own, folder, dirs_exist_ok=True)

    def take_in(self, folder: Path) -> None:
        """Keep what the page's blocks recorded by themselves."""
        if not self.heard:
            self.path.unlink(missing_ok=True)
        shutil.rmtree(self.own, ignore_errors=True)
        for file in folder.rglob("*.json"):
            if b'"ingot_cassette"' not in file.read_bytes()[:64]:
                continue  # what a page laid out for its readers is no recording
            kept = self.own / file.relative_to(folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, kept)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_run(
    page: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each Python block does what it says, one after the other, without network, key or weights."""
    mode = pytestconfig.getoption("--ingot") or "replay"
    clean(monkeypatch, tmp_path, mode)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    module.__dict__.update(Response=Response, Usage=Usage, Value=Value)
    module.__dict__.update({name: getattr(ingot.errors, name) for name in ingot.errors.__all__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    recording = Recording(page, mode)
    recording.lay_out(tmp_path)
    try:
        with no_network(loopback=mode != "replay"), recording:
            differing = differences(page, module, recording)
            assert not differing, "\n".join(differing)
    except (IngotError, AssertionError) as error:
        error.add_note("pages replay cassettes/docs; `make record` asks the local model anew")
        raise
    if mode == "refresh":
        recording.take_in(tmp_path)


def differences(page: Path, module: ModuleType, recording: Recording) -> list[str]:
    """Run the blocks of *page*; say which of them print or show something else than they say."""
    hidden = set(module.__dict__)
    imported = imported_by(python_blocks(page))
    differing: list[str] = []
    for block in blocks_of(page):
        place = f"{name_of(page)}:{block.line}"
        for expression in block.shows:
            assert block.code == eval(expression, module.__dict__) + "\n", place
        if block.file is not None:
            lay_out(block)
            continue
        if block.language != "python":
            continue
        if block.not_run is not None:
            compile(block.code, name_of(page), "exec", dont_inherit=True, flags=_AWAIT)
            continue
        used = {node.id for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Name)}
        unseen = (used & hidden) - imported
        assert not unseen, f"{place} uses {unseen} without importing it"
        printed = perform(block, page, module, recording)
        if printed != block.printed:
            differing.append(f"{place} prints\n{printed}and says\n{block.printed}")
    return differing


def lay_out(block: Block) -> None:
    """Write the program that *block* shows, or skip the page where nothing can run it."""
    missing = [name for name in PROGRAMS.get(block.language, ()) if shutil.which(name) is None]
    if missing and not IN_CI:
        pytest.skip(f"not installed: {', '.join(missing)}")
    file = Path(str(block.file))
    file.write_text(block.code, "utf-8")
    file.chmod(0o755)


_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def clean(monkeypatch: pytest.MonkeyPatch, folder: Path, mode: str) -> None:
    """An environment without keys, settings and, to replay, weights; in an empty folder."""
    for name in (*VENDOR_VARIABLES, *(name for name in os.environ if name.startswith("INGOT_"))):
        monkeypatch.delenv(name, raising=False)
    if mode == "replay":
        monkeypatch.setenv("INGOT_MODEL_DIR", str(folder / "no-weights"))
    else:
        monkeypatch.setenv("INGOT_MODEL", "local/smollm2")
    here = Path(sys.executable).parent  # its python3 is the one that the pages' programs run on
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CI", raising=False)  # readers are not in CI, where nothing is recorded
    monkeypatch.chdir(folder)


def perform(block: Block, page: Path, module: ModuleType, recording: Recording) -> str:
    """Run one block, and the test functions it defines; return what it prints."""
    names = module.__dict__
    known = set(names)
    for code in block.before:
        run(code, name_of(page), names)
    if block.replies is None:
        names["heard"], scripted = recording.heard, nullcontext()
    else:
        scripted = script_of(list(eval(block.replies, names)), block.stand_in)
        names["heard"] = scripted.heard
    with scripted, redirect_stdout(io.StringIO()) as printed:
        # So that a traceback names the line of the page.
        run("\n" * block.line + block.code, str(page), names)
        for name in [name for name in names if name.startswith("test_") and name not in known]:
            test = names[name]
            if not inspect.signature(test).parameters:
                result = test()
                if inspect.iscoroutine(result):
                    asyncio.run(result)
    return printed.getvalue()


def run(code: str, where: str, names: dict[str, Any]) -> None:
    made = compile(code, where, "exec", dont_inherit=True, flags=_AWAIT)
    result = eval(made, names)
    if made.co_flags & inspect.CO_COROUTINE:
        asyncio.run(result)


def script_of(replies: list[Any], stand_in: str | None) -> Script:
    if stand_in is None:
        return Script(replies)
    script = Script(replies, dialect=STAND_INS[stand_in])
    script.name = stand_in
    return script


def imported_by(blocks: list[Block]) -> set[str]:
    """Names that the visible code of a page imports or defines."""
    found: set[str] = {"__builtins__"}
    for block in blocks:
        for node in ast.walk(ast.parse(block.code)):
            if isinstance(node, ast.ImportFrom | ast.Import):
                found |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
    return found


def test_blocks_that_are_not_run_are_few() -> None:
    """A block that cannot run says why, and there are not many."""
    reasons = [block.not_run for page in PAGES for block in python_blocks(page) if block.not_run]

    assert all(len(reason) > 10 for reason in reasons), reasons
    assert len(reasons) <= MOST_NOT_RUN


def test_scripted_blocks_are_few() -> None:
    """What is said to come out of a model does; where a script stands in, it is said why."""
    reasons = [b.why_scripted for page in PAGES for b in python_blocks(page) if b.replies]

    assert all(len(reason) > 10 for reason in reasons), reasons
    assert len(reasons) <= MOST_SCRIPTED


def test_recordings_are_of_pages() -> None:
    """None is left of a page, or of a block that records by itself, that is gone."""
    left = set(RECORDINGS.rglob("*.json"))
    for page in PAGES:
        recording, text = Recording(page, "replay"), page.read_text("utf-8")
        own = recording.own.rglob("*.json")
        left -= {file for file in own if f'"{file.relative_to(recording.own).as_posix()}"' in text}
        left.discard(recording.path)

    assert left == set()


def test_blocks_are_of_known_languages() -> None:
    """A block in another language would pass unchecked."""
    odd = [
        f"{name_of(page)}:{block.line}: {block.language!r}"
        for page in PAGES
        for block in blocks_of(page)
        if block.language not in (LANGUAGES if block.file is None else {"python", *PROGRAMS})
    ]

    assert odd == []


def test_json_and_toml_blocks_read(tmp_path: Path) -> None:
    """JSON is JSON, and what stands under [tool.ingot] are settings."""
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "json":
                json.loads(block.code)
            elif block.language == "toml":
                file = tmp_path / "pyproject.toml"
                file.write_text(block.code, "utf-8")
                table = tomllib.loads(block.code)
                assert bool(_read(file)) == ("ingot" in table.get("tool", {}))


# Commands


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the console blocks, as words, with its place."""
    found: list[tuple[str, list[str]]] = []
    for page in PAGES:
        for block in blocks_of(page):
            if block.language != "console":
                continue
            text = block.code.replace("\\\n", " ")
            for line in text.splitlines():
                if line.startswith("$ "):
                    for part in _piped(shlex.split(line[2:], comments=True)):
                        found.append((f"{name_of(page)}:{block.line}", part))
    return found


def _piped(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in {"|", "&&", ";"}:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def test_commands_exist() -> None:
    """The subcommands, options, extras and make targets that console blocks name are there."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for place, words in commands():
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words.pop(0)
        if "<" in words or ">" in words:
            words = words[: min(words.index(sign) for sign in "<>" if sign in words)]
        match words:
            case ["ingot", *rest]:
                check_command(place, rest)
            case ["make", *rest]:
                unknown = {w for w in rest if "=" not in w} - targets
                assert not unknown, f"{place}: make has no {unknown}"
            case ["pip", "install", *rest]:
                for extra in re.findall(r"ingot-ask\[([\w,]+)\]", " ".join(rest)):
                    assert set(extra.split(",")) <= set(project["optional-dependencies"]), place


@functools.cache
def all_commands() -> Any:
    return typer.main.get_command(app)


def check_command(place: str, words: list[str]) -> None:
    node = all_commands()
    if words[0].startswith("-"):
        options = {option for param in node.params for option in param.opts} | {"--help"}
        assert words[0] in options, f"{place}: ingot has no {words[0]}"
        return
    while hasattr(node, "commands"):
        assert words and words[0] in node.commands, f"{place}: ingot has no {' '.join(words)}"
        node = node.commands[words.pop(0)]
    if "--help" not in words:
        node.make_context("ingot", list(words))


def test_variables_exist() -> None:
    """Each INGOT_… in the docs is one that ingot reads."""
    known = {s.variable for s in SETTINGS.values() if s.variable} | OWN_VARIABLES
    for page in PAGES:
        said = set(re.findall(r"\bINGOT_[A-Z_]*[A-Z]\b", page.read_text("utf-8")))

        assert said <= known, name_of(page)


# Links


def test_links_lead_somewhere() -> None:
    """Relative links name a file, and a heading in it."""
    broken: list[str] = []
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text("utf-8")))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{name_of(page)}: {target}")

    assert broken == []


def anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_the_index() -> None:
    """docs/index.md leads to each page."""
    index = (DOCS / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}

    assert pages == set(re.findall(r"\]\(([\w/-]+\.md)\)", index))


# Tables


def table(page: Path, first: str) -> list[list[str]]:
    """Rows of the table whose first heading is *first*, without their backslashes."""
    lines = iter(page.read_text("utf-8").splitlines())
    for line in lines:
        if line.startswith("|") and _cells(line)[0] == first:
            next(lines)
            rows: list[list[str]] = []
            for row in lines:
                if not row.startswith("|"):
                    break
                rows.append(_cells(row))
            return rows
    raise AssertionError(f"{name_of(page)} has no table that begins with {first!r}")


def _cells(line: str) -> list[str]:
    parts = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [part.strip().replace("\\|", "|") for part in parts]


def code(cell: str) -> str:
    """What stands in backticks in a cell."""
    found = re.search(r"(`+)(.*)\1", cell)
    assert found is not None, f"no code in {cell!r}"
    return found[2].strip()


def test_settings_are_told() -> None:
    """docs/settings.md says of each setting what the code says."""
    expected = [
        [
            f"`{s.name}`",
            f"`{s.type}`",
            s.default,
            f"`{s.variable}`" if s.variable else "–",
            f"`{s.name}`" if s.file else "–",
            "yes" if s.keyed else "no",
            s.says,
        ]
        for s in SETTINGS.values()
    ]

    assert expected == table(DOCS / "settings.md", "Setting")


@pytest.mark.parametrize("door", [ask, ask.using])
def test_settings_are_named_in_help(door: Any) -> None:
    """`help` names each setting, and where to read what it does."""
    named = re.search(r"docs/settings.md says what each does: ([\w\s,]+)\.", inspect.getdoc(door))

    assert list(SETTINGS) == re.split(r",\s+", named[1])


def test_settings_of_a_cassette_are_told() -> None:
    """docs/reference/cassettes.md has each setting of `Cassette`."""
    expected = [f"`{name}`" for name in inspect.signature(Cassette).parameters if name != "path"]

    assert expected == [row[0] for row in table(DOCS / "reference" / "cassettes.md", "Setting")]


def errors(module: ModuleType = ingot.errors) -> list[type[IngotError]]:
    members = [getattr(module, name) for name in module.__all__]
    return [cls for cls in members if isinstance(cls, type) and issubclass(cls, IngotError)]


def test_errors_are_told() -> None:
    """docs/reference/errors.md has each error with its code, retryable and attributes."""
    expected = {}
    for cls in errors():
        retryable = "–"
        if issubclass(cls, ProviderError):
            retryable = "yes" if cls.retryable else "no"
        own = (cls.__doc__ or "").partition("Attributes:\n")[2].splitlines()
        names = [match[1] for line in own if (match := re.match(r" {4,8}(\w+): ", line))]
        attributes = ", ".join(f"`{name}`" for name in names) or "–"
        expected[f"`{cls.__name__}`"] = [f"`{cls.code}`", retryable, attributes]

    told = table(DOCS / "reference" / "errors.md", "Error")
    assert expected == {row[0]: row[1:4] for row in told}


def test_errors_of_cassettes_are_told() -> None:
    """docs/reference/cassettes.md has each error of a cassette with its code."""
    told = table(DOCS / "reference" / "cassettes.md", "Error")
    assert sorted(
        [f"`{cls.__name__}`", f"`{cls.code}`"] for cls in errors(cassette_errors)
    ) == sorted(row[:2] for row in told)


def test_errors_of_runtimes_are_told() -> None:
    """docs/reference/rill.md has each error of a runtime with its code."""
    told = table(DOCS / "reference" / "rill.md", "Error")
    assert sorted([f"`{cls.__name__}`", f"`{cls.code}`"] for cls in errors(ingot.rill)) == sorted(
        row[:2] for row in told
    )


def test_tree_of_errors_is_told() -> None:
    """The tree that is drawn in docs/reference/errors.md is the tree of classes."""
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    drawn: set[tuple[str, str]] = set()
    parents: dict[int, str] = {}
    for line in re.search(r"```text\n(IngotError\n.*?)```", text, re.DOTALL)[1].splitlines():
        found = re.match(r"[ │├└─]*(\w+)", line)
        depth = found.start(1) // 4
        parents[depth] = found[1]
        if depth:
            drawn.add((found[1], parents[depth - 1]))

    public = errors()
    expected = {
        (cls.__name__, next(base.__name__ for base in cls.__mro__[1:] if base in public))
        for cls in public
        if cls is not IngotError
    }
    assert expected == drawn


def test_exit_codes_are_told() -> None:
    """docs/how-to/command-line.md has the exit codes."""
    rows = table(DOCS / "how-to" / "command-line.md", "Code")

    assert [[str(number), words] for number, words in meanings()] == rows


def test_public_names_are_told() -> None:
    """docs/reference/api.md names all that can be imported."""
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    for module in MODULES:
        missing = [name for name in module.__all__ if f"`{name}" not in text]

        assert missing == [], module.__name__


def names_of(page: Path) -> dict[str, Any]:
    """What the first Python block of a page defines."""
    module = sys.modules[f"names_{page.stem}"] = ModuleType(f"names_{page.stem}")
    run(python_blocks(page)[0].code, name_of(page), module.__dict__)
    return module.__dict__


def test_types_are_told() -> None:
    """Each row of docs/reference/types.md: so it travels to each vendor, and so it comes back."""
    page = DOCS / "reference" / "types.md"
    names = names_of(page)
    for written, *cells, back, _ in table(page, "Declared type"):
        t = eval(code(written), names)
        for number, dialect in enumerate(("openai", "anthropic", "open")):
            cell = next(cells[n] for n in range(number, -1, -1) if cells[n] != "same")
            if cell == "refused":
                with pytest.raises(UnsupportedTypeError):
                    shape_of(t, dialect)
                continue
            shape = shape_of(t, dialect)
            value = eval(code(back), names)
            found = shape.read(code(cell))

            assert (type(value), value) == (type(found), found), (written, dialect)
            assert shape.constrained == cell.startswith("`"), (written, dialect)
            if shape.wire is not None:
                sent = shape.wire.schema
                assert fits(json.loads(code(cell)), sent, sent), (written, dialect)


def fits(value: Any, schema: Any, root: Any) -> bool:
    """Whether a model that is held to *schema* can write *value*, as far as kinds and names go."""
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return any(fits(value, member, root) for member in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    match schema.get("type"), value:
        case "object", dict():
            parts = schema.get("properties", {})
            more = schema.get("additionalProperties", False)
            return set(schema.get("required", ())) <= value.keys() and all(
                fits(item, parts[name], root)
                if name in parts
                else more is not False and fits(item, more, root)
                for name, item in value.items()
            )
        case "array", list():
            places = schema.get("prefixItems", [])
            rest = [schema.get("items", {})] * (len(value) - len(places))
            return all(map(fits, value, [*places, *rest], [root] * len(value)))
        case None, _:
            return True
        case type_, _:
            kinds: Any = {
                "string": str,
                "integer": int,
                "number": int | float,
                "boolean": bool,
                "null": type(None),
            }
            known = type_ in kinds and isinstance(value, kinds[type_])
            return known and (not isinstance(value, bool) or type_ == "boolean")


CONSTRAINTS: dict[str, tuple[Any, ...]] = {
    "bounds of whole numbers": (Annotated[int, Field(ge=1)], Annotated[int, Field(lt=9)]),
    "bounds of other numbers": (Annotated[float, Field(ge=1)], Annotated[float, Field(lt=9)]),
    "`multiple_of`": (Annotated[int, Field(multiple_of=5)],),
    "length of a text": (
        Annotated[str, Field(min_length=2)],
        Annotated[str, Field(max_length=9)],
    ),
    "`pattern`": (Annotated[str, Field(pattern="^[a-z]+$")],),
    "fewest items of a list": (Annotated[list[int], Field(min_length=1)],),
    "most items of a list": (Annotated[list[int], Field(max_length=9)],),
    "no item twice (`set`)": (set[int],),
    "dates, times, UUIDs": (datetime.date, datetime.time, datetime.datetime, uuid.UUID),
    "durations, IPv4 addresses": (datetime.timedelta, ipaddress.IPv4Address),
    "e-mail addresses": (EmailStr,),
    "URLs": (AnyUrl,),
}


def test_constraints_are_told() -> None:
    """The table of docs/reference/types.md says who enforces which constraint."""
    rows = table(DOCS / "reference" / "types.md", "Constraint")
    assert list(CONSTRAINTS) == [row[0] for row in rows]
    for name, *cells in rows:
        for cell, dialect in zip(cells, ("openai", "anthropic", "open"), strict=True):
            for t in CONSTRAINTS[name]:
                held = [one.enforced for one in shape_of(t, dialect).wire.constraints]

                assert held[-1] == cell.startswith("enforced"), (name, dialect, t)


def test_rules_of_reading_are_told() -> None:
    """Each row of docs/reference/reading.md: this reply comes to this value or error."""
    page = DOCS / "reference" / "reading.md"
    names = names_of(page)
    rows = table(page, "Asked for")
    for written, reply, result, *_ in rows:
        t = eval(code(written), names)
        with Script([code(reply)]):
            if "Error`" in result:
                with pytest.raises(getattr(ingot.errors, code(result.partition(":")[0]))) as caught:
                    ask(t, "x")
                if ":" in result:
                    told = result.partition(":")[2].strip()
                    assert told in str(caught.value).replace("`", ""), reply
            else:
                value = eval(code(result), names)
                found = ask(t, "x")
                assert (type(value), value) == (type(found), found), reply
    assert len(rows) > 20
