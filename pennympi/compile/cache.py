"""Compiled kernels on disk.  The processes of a node compile each kernel once.

Machine code that another user wrote would run as this user.  Therefore all entries lie in one folder, which must belong
to this user and must not be writable by others.  Its descriptor is kept, so that no other folder can replace it.  The
name of an entry is a digest of everything that its content depends on.  The entry begins with a digest of that and of
its content, so that a damaged entry is found and compiled anew.
"""

import errno
import fcntl
import hashlib
import os
import stat
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from ..notice import say
from ..settings import setting
from ..wall_time import timed

LIBRARY = Path(__file__).parent.parent
# The folders whose sources decide the machine code.  tests/library/test_cache.py compares them with the imports.
BACKENDS = ("cuda", "cuda/*", "host", "host/*", "stencil/on_cpu", "stencil/on_gpu", "stencil/on_gpu/*")
FOLDERS = ("arrays", "compile", *BACKENDS, "job", "memory", "kernels", "kernels/*")
SOURCES = ("*.py", *(f"{folder}/*.py" for folder in FOLDERS))
SILENT_S = 1.0  # of compiling, after which a line on stderr names the kernel that is compiled

_reports = True
_compiling = 0  # calls of made_once in progress
_unsaid_s = 0.0  # of compiling since the last line
_place = ""  # of the kernel among those that are compiled together, such as " (2 of 5)"


def compiling() -> bool:
    """Whether this process compiles, or waits for a process that does.  It is then alive although it makes no calls."""
    return _compiling > 0


def report_from_here(reports: bool) -> None:
    """Set whether this process reports: that the folder can't be used, and that it compiles.  One process a node does."""
    global _reports
    _reports = reports


@cache
def sources_digest() -> str:
    """Digest of all sources of this library that decide the machine code."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for source in sorted(LIBRARY.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def numbered(number: int, count: int) -> Iterator[None]:
    """Let lines say that the kernels compiled in the block are the one of this number, from 1 on, of ``count``."""
    global _place
    _place = f" ({number} of {count})"
    try:
        yield
    finally:
        _place = ""


@contextmanager
def announced(kernel: str, folder: Path | None = None) -> Iterator[None]:
    """Name a kernel on stderr where it takes long to compile it, or to wait for the process that does.

    The line comes when compiling has taken SILENT_S without one, by another thread, since the compiler does not return.
    folder: where the machine code is kept; None: nowhere
    """
    global _unsaid_s
    begin = time.monotonic()
    kept = f"; later runs load it from {folder}" if folder else ""
    line = threading.Timer(max(0.0, SILENT_S - _unsaid_s), say, [f"pennympi: compiling {kernel}{_place}{kept}"])
    line.daemon = True
    if _reports:
        line.start()
    try:
        yield
    finally:
        line.cancel()
        took_s = _unsaid_s + time.monotonic() - begin
        _unsaid_s = took_s if took_s < SILENT_S else 0.0


def made_once(label: str, facts: tuple[str, ...], make: Callable[[], bytes], kernel: str = "") -> bytes:
    """Return the entry from disk, or the result of ``make``, which then becomes the entry.

    Of the processes of a node the first to ask calls ``make``; the others wait for its entry.
    label: the readable part of the entry's name;  kernel: what a line about it calls it, "" if it is that
    facts: everything that the result depends on, except the library's sources
    If nothing can be written to disk, every process calls ``make``, and a warning says why.
    """
    global _compiling
    _compiling += 1
    try:
        with timed("kernels: found on disk"):
            return _made_once(label, "\n".join((sources_digest(), *facts)).encode(), make, kernel or label)
    finally:
        _compiling -= 1


def _made_once(label: str, described: bytes, make: Callable[[], bytes], kernel: str) -> bytes:
    name = f"{''.join(c if c.isalnum() else '_' for c in label[:120])}_{hashlib.sha256(described).hexdigest()[:24]}"
    root = setting("PENNYMPI_CACHE_DIR")
    folder = _opened(root)
    if (found := _read(folder, name, described)) is not None:
        return found
    with announced(kernel, root if folder is not None else None), _one_at_a_time(folder, name):
        if (found := _read(folder, name, described)) is not None:
            return found
        with timed("kernels: compiled"):
            content = make()
        try:
            _write(folder, name, _digest(described, content) + content)
        except OSError as error:
            _warn(root, error)
    return content


@cache
def _opened(root: Path) -> int | None:
    """A descriptor of the folder, or None, after a warning, if it can't be used.  A new folder gets the mode 0700."""
    try:
        root.mkdir(0o700, parents=True, exist_ok=True)
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        found = os.fstat(folder)
        if found.st_uid != os.geteuid():
            raise OSError(f"it belongs to user {found.st_uid}, not to user {os.geteuid()}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(f"other users may write to it (mode {stat.S_IMODE(found.st_mode):o})")
        return folder
    except OSError as error:
        _warn(root, error)
        return None


def _digest(described: bytes, content: bytes) -> bytes:
    return hashlib.sha256(described + b"\0" + content).digest()


def _read(folder: int | None, name: str, described: bytes) -> bytes | None:
    """The content of an entry, or None if it is missing or damaged."""
    if folder is None:
        return None
    try:
        with open(name, "rb", opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
            data = file.read()
    except OSError:
        return None
    return data[32:] if data[:32] == _digest(described, data[32:]) else None


def _write(folder: int | None, name: str, data: bytes) -> None:
    """Write an entry to a temporary file and rename that.  Raises OSError."""
    if folder is None:
        return
    beside = f"{name}.{os.getpid()}"
    try:
        with open(beside, "wb", opener=lambda path, flags: os.open(path, flags, 0o600, dir_fd=folder)) as file:
            file.write(data)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


@cache
def _lock_file(folder: int) -> int:
    """A descriptor of the file whose bytes are the locks of the entries.  It stays open, for closing drops all locks."""
    return os.open("lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=folder)


@contextmanager
def _one_at_a_time(folder: int | None, name: str) -> Iterator[None]:
    """Hold the lock of an entry, so that one process of the node compiles it and the others load it.

    The system drops the locks of a process that dies.  If there are no locks, or the holder does not release this one for
    half of PENNYMPI_TIMEOUT_S because it is suspended, the work is done twice.
    """
    byte = int(name[-8:], 16)
    file = None
    if folder is not None:
        with suppress(OSError):
            file = _lock_file(folder)
            with timed("kernels: compiled by another process"):
                _lock(file, byte)
    try:
        yield
    finally:
        if file is not None:
            with suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


def _lock(file: int, byte: int) -> None:
    """Take the lock of a byte, or give up after a while.  Raises OSError if the file system has no locks."""
    limit = time.monotonic() + (setting("PENNYMPI_TIMEOUT_S") / 2 or float("inf"))
    while time.monotonic() < limit:
        try:
            return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            time.sleep(0.005)


def _warn(root: Path, error: OSError) -> None:
    """Warn that nothing is kept on disk, and why."""
    if _reports:
        why = error.strerror or error
        text = f"compiled kernels are not kept in {root}: {why}; set PENNYMPI_CACHE_DIR to a folder that is yours alone"
        warnings.warn(text, stacklevel=2)
