"""A workspace: what lies in it is opened, and nothing outside of it, whatever the path says."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import random
import socket
import stat
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

import pytest

from ingot import File, FileAccessError, _descent
from ingot._descent import Refused
from ingot._root import check_windows_name
from ingot._workspace import Workspace

SECRET = "SECRET-that-lies-outside"
needs_links = pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")


@pytest.fixture(params=["by descriptor", "by name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening: that of this platform, and that of one without descriptors."""
    if request.param == "by name":
        monkeypatch.setattr(_descent, "_BY_DESCRIPTOR", False)
    return request.param


@pytest.fixture
def workspace(tmp_path: Path, way: str) -> Workspace:
    root = tmp_path / "work"
    root.mkdir()
    return Workspace(root)


def descriptors_open() -> int:
    """How many descriptors this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))


# What it is for


def test_what_is_written_is_read(workspace: Workspace) -> None:
    """A handle leads to what was written, with what its producer added."""
    file = workspace.write_text("out/résumé one.txt", "hé\r\n", media_type="text/plain")

    assert file == File("out/résumé one.txt", media_type="text/plain")
    assert file.read_text() == "hé\n"
    assert file.read_bytes() == "hé\r\n".encode()
    assert file.stat().st_size == 5
    assert Path(file) == workspace.root / "out" / "résumé one.txt"


def test_modes_are_those_of_open(workspace: Workspace) -> None:
    """Writing empties, appending does not, and what is new must not be there."""
    with workspace.open("a/b/log.txt", "x") as file:
        file.write("ä\n")
    with workspace.open(File("a/b/log.txt"), "a") as file:
        file.write("b\n")
    with workspace.open("a/b/log.txt", "r+b") as file:
        file.write(b"C")

    assert workspace.read_bytes("a/b/log.txt") == b"C\xa4\nb\n"
    with pytest.raises(FileAccessError, match="it is there already"):
        workspace.open("a/b/log.txt", "x")
    assert workspace.write_bytes("a/b/log.txt", b"").stat().st_size == 0
    with pytest.raises(ValueError, match="mode"):
        workspace.open("a/b/log.txt", "q")


def test_a_path_may_be_written_in_several_ways(workspace: Workspace) -> None:
    """Absolute within the folder, with dots, as `Path`: it is the same file with one handle."""
    workspace.write_text("a/b.txt", "x")
    paths = ["a/b.txt", "./a//b.txt", "a/../a/./b.txt", Path("a/b.txt"), workspace.root / "a/b.txt"]

    assert {workspace.file(path) for path in paths} == {File("a/b.txt")}
    assert {workspace.path(path) for path in paths} == {workspace.root / "a" / "b.txt"}


def test_a_temporary_one_is_removed() -> None:
    """On `close`, at the end of its block, or when nothing refers to it any more."""
    with Workspace() as workspace:
        file = workspace.write_text("a.txt", "x")
        assert "temporary" in repr(workspace)
    assert not workspace.root.exists()
    assert not workspace.exists("a.txt")
    with pytest.raises(FileAccessError, match="folder is not there any more"):
        file.open()

    forgotten = Workspace()
    kept = forgotten.write_text("a.txt", "kept by its handle")
    root = forgotten.root
    del forgotten
    gc.collect()
    assert kept.read_text() == "kept by its handle"
    del kept
    gc.collect()
    assert not root.exists()


def test_a_folder_of_the_caller_stays(tmp_path: Path) -> None:
    """Only what was made here is removed here; another process opens the same folder."""
    with Workspace(tmp_path) as workspace:
        workspace.write_text("a.txt", "x")

    assert (tmp_path / "a.txt").read_text() == "x"
    assert pickle.loads(pickle.dumps(workspace)).read_text("a.txt") == "x"


def test_the_root_is_a_folder(tmp_path: Path) -> None:
    """It is not made, and no file is one."""
    (tmp_path / "file").write_text("x")
    for path in ("nowhere", "file"):
        with pytest.raises(FileAccessError, match=f"'{path}'.*a workspace is a folder"):
            Workspace(tmp_path / path)


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    """Its files may be named by either absolute path."""
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    workspace = Workspace(tmp_path / "alias")
    workspace.write_text("a.txt", "x")

    assert workspace.root == tmp_path.resolve() / "real"
    assert workspace.file(tmp_path / "alias" / "a.txt") == File("a.txt")
    assert workspace.file(tmp_path / "real" / "a.txt") == File("a.txt")


@needs_links
def test_files_are_listed(workspace: Workspace, tmp_path: Path) -> None:
    """By their paths; links that lead out, pipes and names without text are not among them."""
    (tmp_path / "secret.txt").write_text(SECRET)
    for path in ("b.txt", "a/c.txt", "a/back\\slash"):
        target = workspace.root / path
        target.parent.mkdir(exist_ok=True)
        target.write_text("x")
    (workspace.root / "in").symlink_to("a/c.txt")
    (workspace.root / "out").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(workspace.root / "pipe")
    (workspace.root / "\udcff.txt").write_text("x")

    assert workspace.files() == [File("a/c.txt"), File("b.txt"), File("in")]


def test_threads_may_make_the_same_folder(workspace: Workspace) -> None:
    """Tools that run at once write beside each other."""
    barrier = threading.Barrier(8)

    def write(number: int) -> File:
        barrier.wait()
        return workspace.write_text(f"a/b/c/d/{number}.txt", str(number))

    with ThreadPoolExecutor(8) as pool:
        files = list(pool.map(write, range(8)))

    assert [file.read_text() for file in files] == [str(number) for number in range(8)]


def test_a_large_file_takes_no_memory(workspace: Workspace) -> None:
    """What is opened is read as it is wanted."""
    with workspace.open("large.bin", "wb") as file:
        file.truncate(50_000_000)
    tracemalloc.start()
    with workspace.open("large.bin") as source, workspace.open("copy.bin", "wb") as target:
        while chunk := source.read(65536):
            target.write(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert workspace.stat("copy.bin").st_size == 50_000_000
    assert peak < 1_000_000


# What it refuses


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.txt", "leads out"),
        ("a/../../secret.txt", "leads out"),
        ("/etc/passwd", "absolute path outside"),
        ("//etc/passwd", "absolute path outside"),
        ("C:/Windows/win.ini", "names a drive"),
        ("c:secret.txt", "names a drive"),
        ("C:\\secret.txt", "backslash"),
        ("..\\secret.txt", "backslash"),
        ("\\\\host\\share\\secret.txt", "backslash"),
        ("//host/share/secret.txt", "absolute path outside"),
        ("file:///etc/passwd", "URL"),
        ("a.txt\0.png", "NUL"),
        ("\ud800.txt", "surrogate"),
        ("", "no name"),
        (".", "it is a folder"),
        ("a", "it is a folder"),
        ("a/..", "it is a folder"),
        ("nowhere.txt", "there is no such file"),
        ("a/b.txt/c.txt", "no folder|no such file"),
        ("x" * 300, "too long|no such file"),
        ("x/" * 3000, "longer than 4096"),
    ],
)
def test_refusals_say_why(workspace: Workspace, path: str, reason: str) -> None:
    """One error for all of them, of both families, and short."""
    workspace.write_text("a/b.txt", "x")
    with pytest.raises(FileAccessError, match=reason) as caught:
        workspace.open(path)

    assert isinstance(caught.value, OSError)
    assert caught.value.code == "file"
    assert len(str(caught.value)) < 400
    assert not workspace.exists(path)


def test_a_refusal_tells_no_folder_outside(workspace: Workspace, tmp_path: Path) -> None:
    """It names the file, and neither where that is nor where a link leads."""
    (tmp_path / "private-folder").mkdir()
    (tmp_path / "private-folder" / "secret.txt").write_text(SECRET)
    (workspace.root / "link").symlink_to(tmp_path / "private-folder" / "secret.txt")
    for path in (tmp_path / "private-folder" / "secret.txt", "link"):
        with pytest.raises(FileAccessError) as caught:
            workspace.open(path)
        assert "private-folder" not in str(caught.value)
        assert SECRET not in str(caught.value)


@needs_links
def test_links_are_followed_inside(workspace: Workspace, tmp_path: Path) -> None:
    """Relative, absolute, through folders and back; also to a file that is yet to be written."""
    workspace.write_text("deep/er/a.txt", "inside")
    (workspace.root / "folder").symlink_to("deep/er")
    (workspace.root / "deep" / "up").symlink_to("../folder/./a.txt")
    (workspace.root / "absolute").symlink_to(workspace.root / "deep" / "er")
    (workspace.root / "to be").symlink_to("deep/new.txt")
    for path in ("folder/a.txt", "deep/up", "absolute/a.txt", "absolute/../er/a.txt"):
        assert workspace.read_text(path) == "inside"
    workspace.write_text("to be", "written")

    assert (workspace.root / "deep" / "new.txt").read_text() == "written"
    assert workspace.file("folder/a.txt").path == "folder/a.txt"
    assert workspace.path("folder/a.txt") == workspace.root / "deep" / "er" / "a.txt"


@needs_links
def test_links_without_end_are_refused(workspace: Workspace) -> None:
    """Links to themselves, and links that multiply."""
    (workspace.root / "loop").symlink_to("loop")
    (workspace.root / "more").symlink_to("more/more/more")
    for path in ("loop", "more", "loop/a"):
        with pytest.raises(FileAccessError, match="too many|no such file"):
            workspace.open(path)


@needs_links
def test_a_refused_path_leaves_nothing_behind(workspace: Workspace, tmp_path: Path) -> None:
    """Neither folders inside nor anything outside."""
    (workspace.root / "up").symlink_to("..")
    for path in ("new/../up/a.txt", "up/new/a.txt", "new/../../a.txt", "up/../new/a.txt"):
        with pytest.raises(FileAccessError):
            workspace.write_text(path, "x")

    assert [path.name for path in workspace.root.iterdir()] == ["up"]
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


@needs_links
@pytest.mark.parametrize("mode", ["rb", "wb", "ab", "r+b"])
def test_what_is_no_plain_file_is_not_opened(workspace: Workspace, mode: str) -> None:
    """Pipes, sockets and devices: nobody waits, and nothing is sent."""
    os.mkfifo(workspace.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(workspace.root / "socket"))
        for path in ("pipe", "socket"):
            with pytest.raises(FileAccessError, match="a pipe, a socket or a device"):
                workspace.open(path, mode)


@needs_links
def test_a_device_in_the_workspace_is_not_opened() -> None:
    """Not even where it lies inside."""
    for path in ("null", "tty", "full"):
        with pytest.raises(FileAccessError):
            Workspace("/dev").open(path)


def test_a_path_is_text(workspace: Workspace) -> None:
    """Bytes and descriptors are a mistake of the program."""
    for path in (b"a.txt", 0, None):
        with pytest.raises(TypeError):
            workspace.open(path)


@pytest.mark.parametrize(
    "name", ["CON", "nul", "Aux.txt", "com1", "LPT9.log", "a.", "a ", "...", ".. ", "a:b", "CONIN$"]
)
def test_names_that_windows_takes_for_others(name: str) -> None:
    """Devices by any ending, streams, and dots and spaces that it drops."""
    with pytest.raises(Refused):
        check_windows_name(name)


@pytest.mark.parametrize("name", ["..", "console", "nul-1", ".git", "a.b", "com10"])
def test_names_that_windows_takes_as_they_are(name: str) -> None:
    """The rest passes."""
    check_windows_name(name)


def test_case_f03(tmp_path: Path) -> None:
    """A path that a model chose does not escape the folder of the data."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "ok.txt").write_text("ok")
    (tmp_path / "secret.txt").write_text("SECRET")
    (data / "link").symlink_to("../secret.txt")
    workspace = Workspace(data)

    assert workspace.read_text("ok.txt") == "ok"
    for path in ("data/../secret.txt", "../data/../secret.txt", "/etc/hostname", "link"):
        with pytest.raises(FileAccessError) as caught:
            workspace.read_text(path)
        assert "SECRET" not in str(caught.value)


@needs_links
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "gone"])
def test_what_changes_before_it_is_opened_is_refused(
    workspace: Workspace, tmp_path: Path, kind: str
) -> None:
    """The check and the opening are about one and the same file."""
    (tmp_path / "secret.txt").write_text(SECRET)
    path = workspace.root / "a.txt"
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC | os.O_CREAT):
        path.write_text("x")
        with _descent.descend([str(workspace.root)], ["a.txt"]) as place:
            path.unlink()
            if kind == "link":
                path.symlink_to("../secret.txt")
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            elif flags != os.O_RDONLY:
                continue
            with pytest.raises((OSError, Refused)):
                place.open(flags)
        if kind == "folder":
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    assert (tmp_path / "secret.txt").read_text() == SECRET


# Two thousand hostile paths

TRAVERSALS = [
    "..", "...", "....", ".. ", " ..", "..\t", "..;", ".%00.", "%2e%2e", "%2E%2E", "%252e%252e",
    "..%00", "%c0%ae%c0%ae", "．．", "․․", "‥", "\u202e..", ".\u200b.", "~", "~root", "$HOME",
    "${PWD}", "%USERPROFILE%", "..\\", "\\..", "*", "-", "--help", "\n..\n", "\x1b[2J", "\x7f",
]  # fmt: skip
SEPARATORS = ["/", "//", "/./", "\\", "%2f", "%5c", "%252f", "∕", "⁄", "／", "＼", "/\\", ":"]
INSIDE = ["", "a", "a/b", "flip", "flip/x", "up", "out", "out/x", "deep", "swap", "loop", "ghost"]
TARGETS = [
    "secret.txt", "outside/secret.txt", "etc/passwd", "pipe", "new.txt", "outside/new.txt", "\0",
    "secret.txt\0.png", "secret.txt::$DATA", "CON", "NUL.txt", "\ud800", "work/../secret.txt",
]  # fmt: skip
PREFIXES = [
    "", "/", "//", "\\\\", "\\\\?\\", "\\\\.\\", "C:", "C:\\", "C:/", "z:", "//?/C:/", "file://",
    "file:///", "http://localhost/", "/proc/self/root/", "/proc/self/cwd/", "/dev/fd/", "/dev/",
]  # fmt: skip


def hostile(root: Path, outside: Path, count: int) -> list[str]:
    """Distinct paths, most of which would lead a naive reader out of *root*; the same each time."""
    chosen = random.Random(20250117)
    whole = [
        str(outside / "secret.txt"),
        str(root) + "/../outside/secret.txt",
        str(root) + "-beside/secret.txt",
        str(root.parent) + "/work/../outside/secret.txt",
        str(PureWindowsPath(outside) / "secret.txt"),
        f"/proc/{os.getpid()}/root{outside}/secret.txt",
        f"/proc/self/cwd/../{outside.name}/secret.txt",
        *(f"{name}/{target}" for name in INSIDE for target in TARGETS),
    ]
    paths = dict.fromkeys(whole)
    while len(paths) < count:
        separator = chosen.choice(SEPARATORS)
        steps = [chosen.choice(INSIDE) for _ in range(chosen.randrange(3))]
        steps += [chosen.choice(TRAVERSALS)] * chosen.randrange(1, 7)
        chosen.shuffle(steps)
        path = separator.join([*steps, chosen.choice(TARGETS)])
        paths[chosen.choice(PREFIXES) + path if chosen.random() < 0.4 else path] = None
    return list(paths)


@dataclass
class Ground:
    """A workspace with traps, and what lies around it."""

    root: Path
    outside: Path

    def snapshot(self) -> dict[str, tuple[int, int, bytes]]:
        """All that is outside: kinds, times and contents."""
        found = {}
        for path in sorted(self.outside.rglob("*")):
            status = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, data)
        return found


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    root, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (root / "a" / "b", root / "deep" / "er", root / "flip", outside / "x"):
        folder.mkdir(parents=True)
    for name in ("secret.txt", "new.txt", "x/secret.txt"):
        (outside / name).write_text(SECRET)
    os.mkfifo(outside / "pipe")
    os.mkfifo(root / "pipe")
    (root / "up").symlink_to("..")
    (root / "out").symlink_to(outside)
    (root / "deep" / "out").symlink_to("../../outside")
    (root / "loop").symlink_to("loop")
    (root / "ghost").symlink_to("../outside/ghost")
    (root / "swap").symlink_to("a")
    for name in ("a/secret.txt", "flip/secret.txt", "deep/er/secret.txt"):
        (root / name).write_text("harmless")
    return Ground(root, outside)


SWAPPER = """
import itertools, os, sys
root, outside = sys.argv[1:]
os.chdir(root)
os.symlink(outside, "flip.link")
numbers = itertools.count()
def move(name, target):
    while True:
        try:
            return os.rename(name, target)
        except OSError:  # a folder was made there meanwhile
            os.rename(target, f"made.{next(numbers)}")
def put(name, target):
    os.symlink(target, "swap.new")
    os.replace("swap.new", name)
print("ready", flush=True)
while True:
    # A folder becomes a link to the outside, and a folder again.
    move("flip", "flip.real"); move("flip.link", "flip")
    put("swap", outside)
    put("a/secret.txt", outside + "/secret.txt")
    put("a/new.txt", "../../outside/made.txt")
    move("flip", "flip.link"); move("flip.real", "flip")
    put("swap", "a")
    for name in ("a/secret.txt", "a/new.txt"):
        with open("file.new", "w") as file:
            file.write("harmless")
        os.replace("file.new", name)
"""


def attack(workspace: Workspace, path: str) -> int:
    """Do all that a workspace can do with *path*; say how often it let us in."""
    entered = 0
    for mode in ("rb", "wb", "xb"):
        try:
            with workspace.open(path, mode) as file:
                entered += 1
                real = Path(f"/proc/self/fd/{file.fileno()}").readlink()
                assert real.is_relative_to(workspace.root), path
                assert stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                if mode == "rb":
                    assert SECRET.encode() not in file.read()
                else:
                    file.write(b"harmless")
        except FileAccessError as error:
            assert SECRET not in str(error)
            assert "outside/" not in error.reason
    for look in (workspace.stat, workspace.path, workspace.file):
        try:
            found = look(path)
        except FileAccessError:
            continue
        assert not isinstance(found, Path) or found.is_relative_to(workspace.root)
        assert not isinstance(found, os.stat_result) or found.st_size != len(SECRET)
    return entered


@needs_links
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_two_thousand_hostile_paths_while_links_are_swapped(ground: Ground) -> None:
    """None is read or written outside, though another process swaps folders, files and links."""
    paths = hostile(ground.root, ground.outside, 2200)
    workspace = Workspace(ground.root)
    before, descriptors = ground.snapshot(), descriptors_open()
    command = [sys.executable, "-c", SWAPPER, str(ground.root), str(ground.outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout.readline() == b"ready\n"
            entered = sum(attack(workspace, path) for path in paths)
            races = ["flip/secret.txt", "a/secret.txt", "a/new.txt", "swap/secret.txt"]
            for path in itertools.chain.from_iterable([races] * 300):
                entered += attack(workspace, path)
            assert swapper.poll() is None
        finally:
            swapper.kill()

    assert len(paths) >= 2000
    assert entered > 100
    assert ground.snapshot() == before
    assert descriptors_open() == descriptors


@needs_links
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_two_thousand_hostile_paths(ground: Ground, way: str) -> None:
    """Nor where nobody swaps, in either way of opening."""
    workspace = Workspace(ground.root)
    before, descriptors = ground.snapshot(), descriptors_open()
    for path in hostile(ground.root, ground.outside, 2200):
        attack(workspace, path)

    assert ground.snapshot() == before
    assert descriptors_open() == descriptors
