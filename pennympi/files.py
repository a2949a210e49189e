"""Small files: read if they are what they should be, and written beside their names and renamed."""

import errno
import os
import shutil
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import PennympiError

LARGEST_BYTES = 1 << 20  # of a file that is read


class FileError(PennympiError, ValueError):
    """A file cannot be read or written, or does not hold what it should.  The message names it."""


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file of at most LARGEST_BYTES holds.  Raises FileError for anything else, at once."""
    try:
        if reason := why_no_file(path):  # a pipe would wait for its writer
            raise OSError(reason)
        if path.stat().st_size > LARGEST_BYTES:
            raise OSError(f"it has more than {LARGEST_BYTES} bytes")
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise FileError(f"{path} cannot be read: {why(error)}") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, and thousands of brackets
        raise FileError(f"{path} is not TOML that can be read: {error}") from None


def why_no_file(path: Path) -> str:
    """What stands at ``path`` in place of a regular file, in words, or "" if there is such a file or nothing."""
    if not path.exists() or path.is_file():
        return ""
    return "it is a folder" if path.is_dir() else "it is not a regular file"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under another name beside its own, and rename it: at any time there is the old file or the new one.

    Its folder is made where it is missing.  Raises FileError.
    """
    if reason := why_unwritable(path):
        raise FileError(f"{path} cannot be written: {reason}")
    try:
        with replacing(path) as part, open(part, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError(f"{path} cannot be written: {why(error)}") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name to write a file under.  At the end of the block it gets its own, or is removed after an error.

    The mode and, where that is allowed, the owner of an older file stay.  A mount point, which can't be renamed, is
    overwritten.
    """
    if reason := why_no_file(path):
        raise OSError(reason)
    part = _part(path)
    older = os.stat(path) if os.path.lexists(os.path.realpath(path)) else None
    try:
        if older:
            os.close(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600))  # who may not read the older file may not read this
        yield part
        if older:
            with suppress(PermissionError):
                os.chown(part, older.st_uid, older.st_gid)
            os.chmod(part, stat.S_IMODE(older.st_mode))
        _rename(part, os.path.realpath(path))
    except BaseException:
        with suppress(OSError):  # the error that led here is raised
            part.unlink(missing_ok=True)
        raise


def _rename(part: Path, name: str) -> None:
    try:
        os.replace(part, name)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        with open(part, "rb") as source, open(name, "wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        part.unlink()


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or "" if it can.  It tries, because permissions alone do not decide it."""
    try:
        if reason := why_no_file(path):
            return reason
        part = _part(path)
        if not part.parent.exists():
            part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        part.unlink()
    except (OSError, ValueError) as error:
        return why(error)
    return ""


def _part(path: Path) -> Path:
    """The name under which ``path`` is written first: in the folder of what a link leads to, so that renaming works."""
    path = Path(os.path.realpath(path))
    return path.with_name(f".{path.name[:50]}.{os.getpid()}.part")


def why(error: Exception) -> str:
    """The reason of an OSError in words, without its path."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason[:1].lower() + reason[1:]
