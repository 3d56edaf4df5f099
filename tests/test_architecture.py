"""The rules of the house: floors, one idea a module, doors to the world, light imports."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "_allowance",
        "_beside",
        "_descent",
        "_disk",
        "_forms",
        "_json",
        "_locks",
        "_pieces",
        "_price",
        "_problem",
        "_rate",
        "_record",
        "_redact",
        "_spelling",
        "_stdout",
        "_sse",
    ),
    ("_error", "_process"),
    ("_acting_errors", "_map_errors"),
    ("_echo", "_fields", "_given", "_row", "_serde", "_signatures", "errors"),
    ("_coprocess", "_program", "_root"),
    ("_budget", "_clients", "_context", "_messages", "_policy", "_retry", "_route", "_wire_errors"),
    ("_streamed",),
    ("_shape.content", "_shape.format"),
    ("_kinds", "_workspace"),
    ("_handles",),
    ("_prompt", "_request", "_response", "typenames"),
    ("_answer", "_attach", "_budget.estimate", "_conceal", "_params", "_shape", "events"),
    ("_effects",),
    ("_tool_place", "_tool_result", "_tool_signature"),
    ("_tool",),
    ("_offer",),
    ("_acting_kinds", "_budget.meter", "_people", "_telling"),
    ("_calls", "_settings"),
    ("_acting", "_config", "_flow", "_provider", "_translation"),
    ("_sdk",),
    ("provider",),
    ("_perform", "_registry"),
    ("_drive",),
    ("cassette", "exec", "rill"),
    ("testing", "_question"),
    ("_map", "_pending", "_stream"),
    ("_configured",),
    ("_ask",),
    ("",),
    ("_pytest", "cli"),
    ("pytest_plugin",),
    ("__main__",),
)
"""Lowest first; a module imports only from floors below its own, and within its own room."""

WORLD = {
    "time": {
        "_budget.ledger",
        "_budget.meter",
        "_drive",
        "_map.limiter",
        "_map.progress",
        "_map.store",
        "_process",
        "_wire_errors",
        "_coprocess",
        "rill.client",
        "rill.routed",
        "rill.runtime",
    },
    "asyncio": {
        "_beside",
        "_drive",
        "_map.awaited",
        "_map.crew",
        "_map.limiter",
        "_map.store",
        "_perform",
        "_process",
        "_provider",
        "_clients",
        "cassette.lanes",
        "rill.client",
    },
    "subprocess": {"_coprocess", "_process"},
    "socket": {"testing"},
    "importlib.metadata": {"", "_registry", "rill.learner"},
    "os.environ": {
        "_config",
        "_map.durable",
        "_sdk",
        "_pytest.options",
        "_pytest.standin",
        "cassette.ambient",
        "cassette.gate",
        "cassette.modes",
        "cassette.veil",
        "_program",
    },
    "open": {"_root"},
    "print": set[str](),
}
"""Rooms that may touch what, of `ingot` apart from its command line."""

MODULES = sorted((ROOT / "ingot").rglob("*.py"))
PLUGINS = sorted((ROOT / "providers").rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "ingot").with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".")


KNOWN = {"ingot." + name_of(path) for path in MODULES}


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def floor_of(name: str) -> int:
    for depth in (name, name.partition(".")[0]):
        for number, floor in enumerate(FLOORS):
            if depth in floor:
                return number
    raise AssertionError(f"ingot.{name} stands on no floor; add it to FLOORS")


def room_of(name: str) -> str:
    return name if any(name in floor for floor in FLOORS) else name.partition(".")[0]


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of *path* but those that only type checkers read."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [tree_of(path)]
    while todo:
        node = todo.pop()
        found.append(node)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)
    return tuple(found)


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Modules of ingot that *path* imports, wherever in it."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= submodules & KNOWN or {node.module}
    names = (name for name in found if name.startswith("ingot."))
    return frozenset(name.removeprefix("ingot.") for name in names)


def test_imports_run_downward() -> None:
    """A module knows nothing of what is built on it."""
    upward = {
        (name, other)
        for path in MODULES
        for name, other in itertools.product([name_of(path)], imports(path))
        if room_of(other) != room_of(name) and floor_of(other) >= floor_of(name)
    }

    assert upward == set()


def test_modules_of_one_room_have_no_cycle() -> None:
    """What is imported when a module is loaded forms no circle."""
    graph = {name_of(path): imports(path) - {name_of(path)} for path in MODULES}
    open_: list[str] = []
    done: set[str] = set()

    def visit(name: str) -> None:
        assert name not in open_, f"cycle: {' -> '.join([*open_, name])}"
        if name in done or name not in graph:
            return
        open_.append(name)
        for other in sorted(graph[name]):
            visit(other)
        done.add(open_.pop())

    for name in graph:
        visit(name)

    assert done >= set(graph)


def test_protocol_rooms_do_not_know_each_other() -> None:
    """Plugins import the door of plugin authors, and nothing behind it."""
    private = {
        place(path): sorted(n for n in imports(path) if n.startswith("_")) for path in PLUGINS
    }

    assert {path: names for path, names in private.items() if names} == {}


def test_a_module_is_one_idea() -> None:
    """It says which in its first line, and has no room for a second."""
    first = {
        place(path): (ast.get_docstring(tree_of(path)) or "").partition("\n")[0]
        for path in MODULES + PLUGINS
    }
    lines = {place(path): path.read_text().count("\n") for path in MODULES + PLUGINS}

    assert {path: line for path, line in first.items() if not line.endswith((".", "`"))} == {}
    assert {path: count for path, count in lines.items() if count > 400} == {}


def doors(path: Path) -> set[str]:
    """What *path* touches of the world."""
    touched: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            touched |= {alias.name for alias in node.names} & WORLD.keys()
        elif isinstance(node, ast.ImportFrom) and node.module in WORLD:
            touched.add(node.module)
        elif isinstance(node, ast.Attribute) and node.attr == "environ":
            touched.add("os.environ")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            touched |= {node.func.id} & WORLD.keys()
    return touched


def test_only_named_rooms_touch_the_world() -> None:
    """Clocks, files, sockets, the environment and the terminal each have their door."""
    rooms = [path for path in MODULES if "cli" not in path.parts and path.name != "__main__.py"]
    touched = {(door, name_of(path)) for path in rooms for door in doors(path)}

    assert {(door, name) for door, name in touched if name not in WORLD[door]} == set()


def rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest; each by the alphabet."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def exported(path: Path) -> list[str] | None:
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def test_what_a_module_exports_is_sorted_and_there() -> None:
    """`__all__` is what can be imported, and no name is its module's."""
    for path in MODULES + PLUGINS:
        names = exported(path)
        if names is None:
            assert path.name in ("__init__.py", "__main__.py"), place(path)
            continue
        base = ROOT if path in MODULES else ROOT / "providers"
        dotted = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(dotted)

        assert names == sorted(names, key=rank), dotted
        assert [name for name in names if not hasattr(module, name)] == [], dotted
        assert dotted.rpartition(".")[2] not in names, dotted


def test_importing_ingot_is_light() -> None:
    """Whoever runs pytest imports its plugin, hence the package, at every start."""
    code = (
        "import sys, ingot; from ingot import ask, Text, Retry; import ingot.testing, ingot.errors;"
        "print(sorted(sys.modules.keys() & {'pydantic', 'pydantic_core', 'asyncio', 'tenacity',"
        "'openai', 'anthropic', 'importlib.metadata', 'typing_extensions', 'httpx2', 'xllamacpp',"
        "'typer', 'rich'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_every_plugin_is_packed_and_announced() -> None:
    """A folder of providers/ is in the wheel, is typed, and can be found by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    announced = project["project"]["entry-points"]["ingot.providers"].values()
    plugins = {value.partition(":")[0] for value in announced if not value.startswith("ingot.")}
    folders = sorted(p.name for p in (ROOT / "providers").iterdir() if p.is_dir())
    folders = [name for name in folders if not name.startswith((".", "_"))]

    assert folders == sorted(p.removeprefix("providers/") for p in packed if "/" in p)
    assert folders == sorted(plugins)
    assert [n for n in folders if not (ROOT / "providers" / n / "py.typed").is_file()] == []


def test_the_package_is_typed() -> None:
    """Checkers of those who use ingot read its types."""
    assert (ROOT / "ingot" / "py.typed").is_file()


def test_the_surface_is_what_is_announced() -> None:
    """`from ingot import *`, tab completion and the lazy names agree."""
    import ingot

    assert ingot.__all__ == sorted(ingot.__all__)
    assert [name for name in ingot.__all__ if getattr(ingot, name, None) is None] == []
    assert set(ingot.__all__) <= set(dir(ingot))
