"""Files that are either complete or absent."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

WRITE_ERRORS = (OSError, RuntimeError)  # h5py raises RuntimeError if it meets a full disk when it closes a file


def part_name(path: Path) -> Path:
    """The name under which ``path`` is written first: in the same folder, so that the rename is atomic."""
    return path.with_name(f".{path.name}.part")


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let ``write`` make the file that it is given, then rename that to ``path``.  Raises OSError or as ``write``.

    After a crash at any moment there is the old file or the complete new one.
    """
    part = part_name(path)
    try:
        write(part)
        _to_disk(part)
        os.replace(part, path)
        _to_disk(path.parent)  # the folder's entry
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def in_words(error: Exception) -> str:
    """An error as part of one line.  HDF5's messages are long; the reason that the system gave is taken from them."""
    reason = re.search("error message = '([^']+)'", str(error))
    return " ".join((reason[1] if reason else getattr(error, "strerror", None) or str(error)).split()).lower()


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or "".  It tries, because permissions alone do not decide it."""
    try:
        if path.is_dir():
            return "it is a folder"
        if path.exists() and not path.is_file():
            return "it is not a regular file, and would be replaced by one"
        part = part_name(path)
        try:
            part.touch()
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        return in_words(error)
    return ""
