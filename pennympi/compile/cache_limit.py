"""Keeps the cache below PENNYMPI_CACHE_MAX_BYTES: first go the kernels of other versions, the longest unused ones first.

No process is asked.  One whose files go has read them, or makes them anew; at worst a kernel is compiled twice.
"""

import os
import re
import shutil
from contextlib import suppress

_DIGEST = re.compile(r"[0-9a-f]{16}")  # the folder of one version of the library; see cache.sources_digest
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def note_use(folder: int) -> None:
    """Note that the version whose folder this is has been used just now."""
    with suppress(OSError):
        os.utime(folder)


def keep_below(most_bytes: int, folder: int, digest: str) -> None:
    """Remove what has been unused for longest until the cache has ``most_bytes`` at most; 0 is no limit.

    folder, digest: a descriptor and the name of the folder of this version, which loses single files, and those last
    """
    if not most_bytes:
        return
    with suppress(OSError):
        root = os.open("..", _FOLDER, dir_fd=folder)
        try:
            _keep_below(most_bytes, root, folder, digest)
        finally:
            os.close(root)


def _keep_below(most_bytes: int, root: int, folder: int, digest: str) -> None:
    own, others = sorted(_files(folder)), sorted(_versions(root, digest))
    too_many_bytes = sum(size for _, size, _ in own + others) - most_bytes
    for _, size, name in others:
        if too_many_bytes <= 0:
            return
        shutil.rmtree(name, ignore_errors=True, dir_fd=root)
        too_many_bytes -= size
    for _, size, name in own:
        if too_many_bytes <= 0:
            return
        with suppress(FileNotFoundError):  # another process of this version removes it, too
            os.unlink(name, dir_fd=folder)
        too_many_bytes -= size


def _versions(root: int, digest: str) -> list[tuple[int, int, str]]:
    """(when it was used, bytes, name) of the folder of each other version."""
    found = []
    with os.scandir(root) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        if name != digest and _DIGEST.fullmatch(name):
            with suppress(OSError):  # another process removes it
                one = os.open(name, _FOLDER, dir_fd=root)
                try:
                    found.append((os.fstat(one).st_mtime_ns, sum(size for _, size, _ in _files(one)), name))
                finally:
                    os.close(one)
    return found


def _files(folder: int) -> list[tuple[int, int, str]]:
    """(when it was written or read, bytes, name) of each file of a folder; locks are no files of the cache."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                stat = entry.stat(follow_symlinks=False)
                if entry.is_file(follow_symlinks=False) and not entry.name.endswith(".lock"):
                    found.append((max(stat.st_mtime_ns, stat.st_atime_ns), stat.st_size, entry.name))
    return found
