"""Compiled kernels on disk, made once on a node.

Machine code that others wrote would run as this user, so it comes only from files that this user owns and no other may
write (private_files.py), or from the folder that PENNYMPI_CACHE_SHARED names.  A file begins with the digest of its
content and of everything that the content depends on: what is stale, damaged or another kernel's is made anew.
"""

import hashlib
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from ..settings import setting
from . import cache_limit, private_files
from .private_files import Untrusted, opened_folder

LIBRARY = Path(__file__).parent.parent
# The rooms that machine code is made from; tests/library/test_cache.py compares them with the backends' imports.
ROOMS = ("arrays", "compile", "cuda", "host", "job", "memory", "kernels", "kernels/*")
SOURCES = ("*.py", *(f"{room}/*.py" for room in ROOMS))
_FORMAT = "pennympi 1"  # of a file: 32 bytes of SHA-256, and the content

_told: set[str] = set()
_used: set[Path] = set()  # folders of which this process has noted that they are in use
_tells: bool | None = None
_under_way = 0  # calls of made_once


def compiling() -> bool:
    """Whether this process compiles, or waits for one that does: it is busy, and others wait for it with patience."""
    return _under_way > 0


def tell_from_here(tells: bool) -> None:
    """Say whether this process warns of a folder that can't be used: one of a node does.  The first call counts."""
    global _tells
    if _tells is None:
        _tells = tells


@cache
def sources_digest() -> str:
    """Digest of all of this library that machine code is made from."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for source in sorted(LIBRARY.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def made_once(label: str, facts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """What ``make`` returns, from disk if it was made before; made by the first process of the node that asks.

    label: the readable part of the file's name
    facts: everything that the result depends on, beside the library's sources and Python's version
    Where nothing can be kept, every process makes it, and one warning says why.
    """
    global _under_way
    _under_way += 1
    try:
        return _made_once(label, facts, make)
    finally:
        _under_way -= 1


def _made_once(label: str, facts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    described = "\n".join((_FORMAT, sources_digest(), platform.python_version(), *facts)).encode()
    name = f"{''.join(c if c.isalnum() else '_' for c in label[:120])}_{hashlib.sha256(described).hexdigest()[:24]}"
    shared = setting("PENNYMPI_CACHE_SHARED")
    if shared and (found := _found_in_shared(shared, name, described)) is not None:
        return found
    root = setting("PENNYMPI_CACHE_DIR")
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(opened_folder(root, sources_digest(), make=True))
        except OSError as error:
            _tell_not_kept(root, error)
            return make()
        if root not in _used:
            _used.add(root)
            cache_limit.note_use(folder)
        if (found := _found(folder, name, described)) is not None:
            return found
        stack.enter_context(_one_at_a_time(folder, name))
        if (found := _found(folder, name, described)) is not None:
            return found
        content = make()
        try:
            private_files.write(folder, name, _digest(described, content) + content)
            cache_limit.keep_below(setting("PENNYMPI_CACHE_MAX_BYTES"), folder, sources_digest())
        except FileNotFoundError:
            pass  # another version's process has just removed this folder: the next one makes it
        except OSError as error:
            _tell_not_kept(root, error)
        return content


def _digest(described: bytes, content: bytes) -> bytes:
    return hashlib.sha256(described + b"\0" + content).digest()


def _found(folder: int, name: str, described: bytes) -> bytes | None:
    """The content of a file that is whole and the one that is meant."""
    data = private_files.read(folder, name) or b""
    return data[32:] if data[:32] == _digest(described, data[32:]) else None


def _found_in_shared(root: Path, name: str, described: bytes) -> bytes | None:
    try:
        with opened_folder(root, sources_digest()) as folder:
            return _found(folder, name, described)
    except FileNotFoundError:
        return None  # it has no kernels of this version of the library
    except OSError as error:
        _tell(f"kernels are not taken from {root}", error, "correct it, or unset PENNYMPI_CACHE_SHARED")
        return None


@contextmanager
def _one_at_a_time(folder: int, name: str) -> Iterator[None]:
    """Hold the lock of a file: one process of the node compiles, the others then load.

    The system drops the lock of a process that dies.  A lock that can't be had, or not for half of PENNYMPI_TIMEOUT_S
    since its holder is stopped, only means that the work is done twice.
    """
    from filelock import lock_descriptor  # here: a start that compiles nothing does not pay for it

    limit_s = setting("PENNYMPI_TIMEOUT_S") / 2 or float("inf")
    since = time.monotonic()
    lock = f"{name}.lock"
    try:
        fd = private_files.opened_to_lock(folder, lock)
    except OSError:
        yield
        return
    held = False
    try:
        with suppress(OSError):  # of a file system without locks
            while not (held := lock_descriptor(fd, blocking=False)) and time.monotonic() - since < limit_s:
                time.sleep(0.005)
        yield
    finally:
        if held:
            with suppress(OSError):
                os.unlink(lock, dir_fd=folder)  # whoever waits finds the file, or makes it
        os.close(fd)


def _tell_not_kept(root: Path, error: OSError) -> None:
    remedy = "set PENNYMPI_CACHE_DIR to a folder that you can write"
    if isinstance(error, Untrusted):
        remedy = f"remove it, or chmod -R go-w {root} if you trust it, or set PENNYMPI_CACHE_DIR to a folder of your own"
    _tell(f"compiled kernels are not kept in {root}", error, remedy)


def _tell(what: str, error: OSError, remedy: str) -> None:
    """Warn of a folder, once in a process."""
    if _tells is not False and what not in _told:
        _told.add(what)
        warnings.warn(f"{what}: {error.strerror or error}; {remedy}", stacklevel=2)
