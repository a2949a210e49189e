"""Files that nobody but their owner may write: opened without following links, checked by owner and mode.

Own code, since what lies there is run: libraries such as filelock open paths, which may change between a check and its
use, and ask neither for owners nor for modes.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

MOST_BYTES = 1 << 28  # of one file: a larger one is not ours
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEVER_LINKED = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not make the opening wait


class Untrusted(OSError):
    """A file or folder belongs to another user, may be written by others, is a link, or is no file or folder at all."""


@contextmanager
def opened_folder(path: Path, name: str, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder ``name`` of the folder ``path``.

    make: make what is missing, with mode 0700 whatever the umask; both folders must be this user's.  Else they may be
          another user's who alone may write to them
    Raises Untrusted, and OSError for a folder that can't be made or read.
    """
    with ExitStack() as opened:
        at: int | None = None
        if make:
            for above in reversed(path.parents):
                if not above.exists():
                    os.mkdir(above, 0o700)
        for one in (str(path), name):
            at = _folder(one, at, make)
            opened.callback(os.close, at)
        assert at is not None
        yield at


def _folder(name: str, at: int | None, make: bool) -> int:
    if not make:
        return _opened(name, os.O_RDONLY | os.O_DIRECTORY, at, None)
    missing = False
    for tries_left in reversed(range(10)):  # another process may remove it at any moment (cache_limit.py)
        try:
            fd = _opened(name, os.O_RDONLY | os.O_DIRECTORY, at, os.geteuid())
        except FileNotFoundError:
            if not tries_left:
                raise
            missing = True
            with suppress(FileExistsError):  # by another process, just now
                os.mkdir(name, 0o700, dir_fd=at)
        else:
            break
    if missing:
        os.fchmod(fd, 0o700)
    return fd


def read(folder: int, name: str) -> bytes | None:
    """The content of a file of a folder, or None if it is missing, damaged or not to be trusted."""
    try:
        fd = _opened(name, os.O_RDONLY, folder, os.fstat(folder).st_uid)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            return file.read() if os.fstat(fd).st_size <= MOST_BYTES else None
        except OSError:
            return None


def write(folder: int, name: str, data: bytes) -> None:
    """Write a file of a folder with mode 0600, beside its name, and rename it.  Raises OSError."""
    beside = f"{name}.{os.getpid()}.part"
    with suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=folder)  # of an earlier process of this number
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER_LINKED, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)
            file.write(data)
        try:
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=folder)
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def opened_to_lock(folder: int, name: str) -> int:
    """A descriptor of an empty file, made if it is missing.  Raises OSError."""
    return _opened(name, os.O_RDWR | os.O_CREAT, folder, os.geteuid())


def _opened(name: str, flags: int, folder: int | None, owner: int | None) -> int:
    """Open without following a link.  owner: who must own it; None for any user."""
    try:
        fd = os.open(name, flags | _NEVER_LINKED, 0o600, dir_fd=folder)
    except OSError:
        if _is_link(name, folder):
            raise Untrusted(f"{name} is a symbolic link") from None
        raise
    found = os.fstat(fd)
    wrong = ""
    if owner is not None and found.st_uid != owner:
        wrong = f"{name} belongs to user {found.st_uid}, not to user {owner}"
    elif found.st_mode & _OTHERS_MAY_WRITE:
        wrong = f"other users may write to {name} (mode {stat.S_IMODE(found.st_mode):o})"
    elif not (stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG)(found.st_mode):
        wrong = f"{name} is no file"
    if wrong:
        os.close(fd)
        raise Untrusted(wrong)
    return fd


def _is_link(name: str, folder: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
