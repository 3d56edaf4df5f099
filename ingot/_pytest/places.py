"""Which file is whose: a name for each test that no other test has, whatever else is collected."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from ingot._pytest.options import Options

__all__ = ["Places", "file_name"]

_LONGEST = 100
_CUT = 80
_MARK = re.compile(r".*-[0-9a-f]{6}")
_OWN = ("fixture-", "module-")


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:6]


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)


def file_name(node: str, *, twin: bool = False) -> str:
    """
    Return the name of the file of a test, without its ending.

    Args:
        node: The part of its node id after the module, such as `TestA::test_b[x]`.
        twin: Whether a neighbour has the same name but for capital letters.
    """
    head, _, parameter = node.partition("[")
    parameter = parameter.removesuffix("]")
    said = head.replace("::", ".")
    if "[" in node:
        said = f"{said}-{parameter}"
    name = _slug(said)
    lossy = (
        twin
        or name != said
        or len(name) > _LONGEST
        or parameter != parameter.lower()
        or name[:1] == "."
        or name.startswith(_OWN)
        or _MARK.fullmatch(name) is not None
    )
    return f"{name[:_CUT].lstrip('.')}-{_hash(node)}" if lossy else name


class Places:
    """
    The files of one run.

    A test of `tests/test_a.py` has its file in `<base>/test_a/`: what the folder of the cassettes
    stands in is not repeated. A test from elsewhere has the whole way from the root of the project.
    """

    def __init__(self, options: Options) -> None:
        self._root = options.root
        self._base = options.base
        self._folders: dict[str, Path] = {}
        self._names: dict[int, tuple[Any, dict[str, int]]] = {}
        beside = options.base.parent
        inside = beside.is_relative_to(options.root) and beside != options.root
        self._beside = beside.relative_to(options.root).as_posix() + "/" if inside else None

    def folder(self, module: str) -> Path:
        """Return the folder of a module, or of a folder of modules, by its node id."""
        found = self._folders.get(module)
        if found is None:
            found = self._folders[module] = self._base / self._way(module)
        return found

    def _way(self, module: str) -> str:
        way = module.removesuffix(".py")
        if PurePosixPath(module).is_absolute() or ".." in module.split("/"):
            return f"_outside/{_slug(PurePosixPath(way).name)}-{_hash(module)}"
        if self._beside is None:
            return way
        if way.startswith(self._beside):
            return way.removeprefix(self._beside)
        if f"{way}/" == self._beside:
            return ""
        # Elsewhere; and if there is a module of that name beside the cassettes, told from it.
        if (self._root / self._beside / module).exists():
            return f"{way}-{_hash(module)}"
        return way

    def test(self, item: pytest.Item) -> Path:
        """Return the file of a test."""
        module, _, node = item.nodeid.partition("::")
        return self.folder(module) / f"{file_name(node, twin=self._has_twin(item))}.json"

    def named(self, name: str) -> Path:
        """Return the file that several tests share."""
        return self._base / f"{name}.json"

    def fixture(self, fixture: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Path:
        """Return the file of a fixture that outlives a test: beside what it lives as long as."""
        said = fixture.argname
        home = fixture.baseid
        if fixture.scope in ("module", "class"):
            home = request.node.nodeid
            if home != fixture.baseid:
                # Several fixtures of one name may be in force there, each from its own conftest.
                said += f"-{_hash(fixture.baseid)}" if fixture.baseid else ""
        if hasattr(request, "param"):
            said += f"-{getattr(request, 'param_index', 0)}"
        module, _, cls = home.partition("::")
        if cls:
            said = f"{cls.replace('::', '.')}.{said}"
        name = _slug(said)
        if name != said or fixture.argname != fixture.argname.lower():
            name += f"-{_hash(said)}"
        return self.folder(module) / f"fixture-{name}.json"

    def module(self, module: str) -> Path:
        """Return the file of what is asked while a module is imported."""
        return self.folder(module) / "module-import.json"

    def _has_twin(self, item: pytest.Item) -> bool:
        """Whether a neighbour's name, here or of an outer class, differs in capitals only."""
        for node in item.listchain():
            owner = getattr(node.parent, "obj", None)
            if owner is None:
                continue
            name = getattr(node, "originalname", None) or node.name.partition("[")[0]
            if self._alike(owner).get(name.casefold(), 0) > 1:
                return True
        return False

    def _alike(self, owner: Any) -> dict[str, int]:
        found = self._names.get(id(owner))
        if found is None or found[0] is not owner:
            count: dict[str, int] = {}
            for name in dir(owner):
                count[name.casefold()] = count.get(name.casefold(), 0) + 1
            found = self._names[id(owner)] = owner, count
        return found[1]
