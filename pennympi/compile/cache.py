"""Compiled kernels on disk, made once on a node.

The folder's name holds a digest of everything that the machine code depends on
beside the kernel itself, so that nothing stale is ever loaded.
"""

import fcntl
import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ..settings import setting

LIBRARY = Path(__file__).parent.parent
# The rooms that machine code is made from; tests/library/test_cache.py compares them with the backends' imports.
ROOMS = ("arrays", "compile", "cuda", "host", "job", "memory", "kernels", "kernels/*")
SOURCES = ("*.py", *(f"{room}/*.py" for room in ROOMS))


@cache
def folder(*versions: str) -> Path:
    """The cache folder for this library's sources and the given versions; made if missing.

    Raises OSError naming PENNYMPI_CACHE_DIR when it can't be written.
    """
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for source in sorted(LIBRARY.glob(pattern)):
            digest.update(source.read_bytes())
    for version in (platform.python_version(), *versions):
        digest.update(version.encode())
    path = setting("PENNYMPI_CACHE_DIR") / digest.hexdigest()[:16]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"compiled kernels can't be kept in {path}: {error}; set PENNYMPI_CACHE_DIR to a writable folder"
        ) from None
    return path


@contextmanager
def one_at_a_time(name: str, path: Path) -> Iterator[None]:
    """Hold the file lock ``name``: one process of the node compiles, the others then load.

    The kernel drops the lock of a process that dies.
    """
    limit_s = setting("PENNYMPI_TIMEOUT_S")
    since = time.monotonic()
    with open(path / f"{name[:80]}.lock", "w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if 0 < limit_s < time.monotonic() - since:
                    raise TimeoutError(
                        f"another process has been compiling {name} for {limit_s:g} s: is it stopped? "
                        "If it is only slow, raise PENNYMPI_TIMEOUT_S"
                    ) from None
                time.sleep(0.005)
        yield


def made_once(name: str, path: Path, make: Callable[[], bytes]) -> bytes:
    """The bytes of file ``name``, made by the first process that asks."""
    target = path / name
    if target.exists():  # it appears whole, by a rename
        return target.read_bytes()
    with one_at_a_time(name, path):
        if not target.exists():
            data = make()
            temporary = target.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(data)
            temporary.rename(target)
    return target.read_bytes()
