"""Compiled kernels on disk, made once on a node.

The folder's name holds a digest of everything that the machine code depends on
beside a kernel's own text, so that nothing stale is ever loaded.
"""

import fcntl
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from .settings import setting


@cache
def folder(*versions: str) -> Path:
    """The cache folder for this library's sources and the given versions; made if missing.

    Raises OSError naming PENNYMPI_CACHE_DIR when it can't be written.
    """
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for pattern in ("*.py", "host/*.py", "cuda/*.py", "kernels/*.py", "kernels/*/*.py"):
        for source in sorted(here.glob(pattern)):
            digest.update(source.read_bytes())
    for version in (platform.python_version(), *versions):
        digest.update(version.encode())
    path = Path(setting("PENNYMPI_CACHE_DIR")).expanduser() / digest.hexdigest()[:16]
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
    with open(path / f"{name[:80]}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def made_once(name: str, path: Path, make: Callable[[], bytes]) -> bytes:
    """The bytes of file ``name``, made by the first process that asks."""
    target = path / name
    with one_at_a_time(name, path):
        if not target.exists():
            data = make()
            temporary = target.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(data)
            temporary.rename(target)
    return target.read_bytes()
