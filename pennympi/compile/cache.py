"""Compiled kernels on disk.  The processes of a node compile each kernel once.

Machine code that another user wrote would run as this user.  Therefore all entries lie in one folder, which must belong
to this user and must not be writable by others.  The process keeps the folder open, so that no other folder can replace
it.  The name of an entry is a digest of all inputs of its content.  The entry begins with a digest of the inputs and the
content, so that a damaged entry is detected and compiled again.
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
# The folders whose sources influence the machine code.  tests/library/test_cache.py compares them with the imports.
BACKENDS = ("cuda", "cuda/*", "host", "host/*", "stencil/on_cpu", "stencil/on_gpu", "stencil/on_gpu/*")
FOLDERS = ("arrays", "compile", *BACKENDS, "job", "memory", "kernels", "kernels/*")
SOURCES = ("*.py", *(f"{folder}/*.py" for folder in FOLDERS))
SILENT_S = 1.0  # seconds of compiling after which a line on stderr names the kernel

_reports = True
_compiling = 0  # calls of made_once in progress
_unreported_s = 0.0  # seconds of compiling since the last line
_position = ""  # position of the kernel among those that are compiled together, such as " (2 of 5)"


def compiling() -> bool:
    """Whether this process compiles or waits for a process that compiles: it is alive although it makes no calls."""
    return _compiling > 0


def enable_reports(reports: bool) -> None:
    """Set whether this process reports a folder that can't be used, and compiling.  One process of a node reports."""
    global _reports
    _reports = reports


@cache
def sources_digest() -> str:
    """Digest of all sources of this library that influence the machine code."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for source in sorted(LIBRARY.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def numbered(number: int, count: int) -> Iterator[None]:
    """Let the lines in this block say that they are about kernel ``number``, counted from 1, of ``count`` kernels."""
    global _position
    _position = f" ({number} of {count})"
    try:
        yield
    finally:
        _position = ""


@contextmanager
def announced(kernel: str, folder: Path | None = None) -> Iterator[None]:
    """Name a kernel on stderr if compiling it, or waiting for a process that compiles it, takes long.

    The line comes after SILENT_S of compiling since the last line.  Another thread writes it, because the compiler does
    not return.
    folder: the folder that keeps the machine code; None: the code is not kept
    """
    global _unreported_s
    begin = time.monotonic()
    storage = f"; later runs load it from {folder}" if folder else ""
    text = f"pennympi: compiling {kernel}{_position}{storage}"
    line = threading.Timer(max(0.0, SILENT_S - _unreported_s), say, [text])
    line.daemon = True
    if _reports:
        line.start()
    try:
        yield
    finally:
        line.cancel()
        took_s = _unreported_s + time.monotonic() - begin
        _unreported_s = took_s if took_s < SILENT_S else 0.0


def made_once(label: str, inputs: tuple[str, ...], make: Callable[[], bytes], kernel: str = "") -> bytes:
    """Return the entry from disk, or the result of ``make``, which then becomes the entry.

    The first process of a node that asks calls ``make``; the others wait for its entry.
    label:  readable part of the entry's name;  kernel: name of the kernel for the line on stderr, "": the label
    inputs: everything that the result depends on, except the library's sources
    If nothing can be written to disk, every process calls ``make``, and a warning says why.
    """
    global _compiling
    _compiling += 1
    try:
        with timed("kernels: found on disk"):
            return _made_once(label, "\n".join((sources_digest(), *inputs)).encode(), make, kernel or label)
    finally:
        _compiling -= 1


def _made_once(label: str, described: bytes, make: Callable[[], bytes], kernel: str) -> bytes:
    name = f"{''.join(c if c.isalnum() else '_' for c in label[:120])}_{hashlib.sha256(described).hexdigest()[:24]}"
    root = setting("PENNYMPI_CACHE_DIR")
    folder = _opened(root)
    if (entry := _read(folder, name, described)) is not None:
        return entry
    with announced(kernel, root if folder is not None else None), _one_at_a_time(folder, name):
        if (entry := _read(folder, name, described)) is not None:
            return entry
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
        status = os.fstat(folder)
        if status.st_uid != os.geteuid():
            raise OSError(f"it belongs to user {status.st_uid}, not to user {os.geteuid()}")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(f"other users may write to it (mode {stat.S_IMODE(status.st_mode):o})")
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
    """Write an entry to a temporary file and rename the file.  Raises OSError."""
    if folder is None:
        return
    temporary = f"{name}.{os.getpid()}"
    try:
        with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600, dir_fd=folder)) as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


@cache
def _lock_file(folder: int) -> int:
    """Descriptor of the file whose bytes are the locks of entries.  It stays open, since closing it drops all locks."""
    return os.open("lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=folder)


@contextmanager
def _one_at_a_time(folder: int | None, name: str) -> Iterator[None]:
    """Hold the lock of an entry, so that one process of the node compiles it and the others load it.

    The system releases the locks of a process that dies.  If the file system has no locks, or the holder keeps this one
    for half of PENNYMPI_TIMEOUT_S because it is suspended, both processes compile.
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
    """Take the lock of a byte, or give up after half of PENNYMPI_TIMEOUT_S.  Raises OSError if there are no locks."""
    limit = time.monotonic() + (setting("PENNYMPI_TIMEOUT_S") / 2 or float("inf"))
    while time.monotonic() < limit:
        try:
            return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            time.sleep(0.005)


def _warn(root: Path, error: OSError) -> None:
    """Warn that compiled kernels are not kept on disk, and why."""
    if _reports:
        why = error.strerror or error
        text = f"compiled kernels are not kept in {root}: {why}; set PENNYMPI_CACHE_DIR to a folder that is yours alone"
        warnings.warn(text, stacklevel=2)
