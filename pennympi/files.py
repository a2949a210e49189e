"""Small files: they are checked before they are read, and written under a temporary name and renamed."""

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

LARGEST_BYTES = 1 << 20  # largest size of a file that is read


class FileError(PennympiError, ValueError):
    """A file can't be read or written, or has a wrong content.  The message names the file."""


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file of at most LARGEST_BYTES.  Raises FileError at once for anything else."""
    try:
        if reason := why_no_file(path):  # a pipe would wait for its writer
            raise OSError(reason)
        if path.stat().st_size > LARGEST_BYTES:
            raise OSError(f"it has more than {LARGEST_BYTES} bytes")
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise FileError(f"{path} cannot be read: {why(error)}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # also for numbers with thousands of digits, and thousands of brackets
        raise FileError(f"{path} is not TOML that can be read: {error}") from None


def why_no_file(path: Path) -> str:
    """The reason why ``path`` is not a regular file, as text; "" if it is a regular file, or does not exist."""
    if not path.exists() or path.is_file():
        return ""
    return "it is a folder" if path.is_dir() else "it is not a regular file"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it, so that at any time the old or the new file is complete.

    A missing folder is made.  Raises FileError.
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
    """The temporary name of a file.  At the end of the block the file is renamed, or removed after an error.

    The mode and, if permitted, the owner of an older file are kept.  A mount point, which can't be renamed, is
    overwritten.
    """
    if reason := why_no_file(path):
        raise OSError(reason)
    part = _part(path)
    older = os.stat(path) if os.path.lexists(os.path.realpath(path)) else None
    try:
        if older:
            os.close(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600))  # the older file may not be readable by everybody
        yield part
        if older:
            with suppress(PermissionError):
                os.chown(part, older.st_uid, older.st_gid)
            os.chmod(part, stat.S_IMODE(older.st_mode))
        _rename(part, os.path.realpath(path))
    except BaseException:
        with suppress(OSError):  # the first error is raised
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
    """The reason why a file can't be written, or "".  The function tries, since permissions alone do not decide it."""
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
    """The temporary name of ``path``, in the folder of a link's target, so that it can be renamed."""
    path = Path(os.path.realpath(path))
    return path.with_name(f".{path.name[:50]}.{os.getpid()}.part")


def why(error: Exception) -> str:
    """The reason of an OSError, without its path."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason[:1].lower() + reason[1:]
