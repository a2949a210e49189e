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
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from ..settings import setting
from ..wall_time import timed

LIBRARY = Path(__file__).parent.parent
# The folders whose sources decide the machine code.  tests/library/test_cache.py compares them with the imports.
BACKENDS = ("cuda", "cuda/*", "host", "host/*", "stencil/on_cpu", "stencil/on_gpu", "stencil/on_gpu/*")
FOLDERS = ("arrays", "compile", *BACKENDS, "job", "memory", "kernels", "kernels/*")
SOURCES = ("*.py", *(f"{folder}/*.py" for folder in FOLDERS))
ANNOUNCE_S = 3.0  # after so many seconds of compiling, a line on stderr says why the program takes long

_reports = True
_compiling = 0  # calls of made_once in progress
_compiled_s = 0.0


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


def made_once(label: str, facts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """Return the entry from disk, or the result of ``make``, which then becomes the entry.

    Of the processes of a node the first to ask calls ``make``; the others wait for its entry.
    label: the readable part of the entry's name
    facts: everything that the result depends on, except the library's sources
    If nothing can be written to disk, every process calls ``make``, and a warning says why.
    """
    global _compiling
    _compiling += 1
    try:
        with timed("kernels: found on disk"):
            return _made_once(label, "\n".join((sources_digest(), *facts)).encode(), make)
    finally:
        _compiling -= 1


def _made_once(label: str, described: bytes, make: Callable[[], bytes]) -> bytes:
    global _compiled_s
    name = f"{''.join(c if c.isalnum() else '_' for c in label[:120])}_{hashlib.sha256(described).hexdigest()[:24]}"
    root = setting("PENNYMPI_CACHE_DIR")
    folder = _opened(root)
    if (found := _read(folder, name, described)) is not None:
        return found
    begin = time.monotonic()
    with _one_at_a_time(folder, name):
        if (found := _read(folder, name, described)) is not None:
            return found
        with timed("kernels: compiled"):
            content = make()
        try:
            _write(folder, name, _digest(described, content) + content)
        except OSError as error:
            _warn(root, error)
    before_s, _compiled_s = _compiled_s, _compiled_s + time.monotonic() - begin
    if _reports and before_s <= ANNOUNCE_S < _compiled_s:
        with suppress(OSError, ValueError):  # a closed stderr must not end the program
            print(f"pennympi: compiling kernels, which later runs load from {root}", file=sys.stderr, flush=True)
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
