"""Small files: read if they are what they should be, and written beside their names and renamed."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import PennympiError

LARGEST_BYTES = 1 << 20  # of a file that is read
MOST_DOTS = 2000  # of a line of TOML: tomllib takes time and memory with the square of the parts of a key
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


class FileError(PennympiError, ValueError):
    """A file cannot be read or written, or does not hold what it should.  The message names it, and the line."""


@dataclass(frozen=True)
class TomlFile:
    """A TOML file.  name: as messages call it"""

    name: str
    text: str
    data: dict[str, Any]

    def line(self, key: str = "", table: str = "", number: int = 0) -> str:
        """Where ``key`` is, or else its table: "nodes.toml, line 3", or the name alone if the line is not found.

        table, number: the key is in the [[table]] of that number, counted from 0; else above all tables
        """
        lines = self.text.splitlines()
        heads = [i for i, line in enumerate(lines) if re.match(rf"\s*\[\[\s*{table or '.*'}\s*\]\]", line)]
        bounds = [*heads, len(lines)]
        if table and number >= len(heads):
            return self.name
        first, last = (bounds[number], bounds[number + 1]) if table else (0, bounds[0])
        holds = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        at = next((i for i in range(first, last) if key and holds.match(lines[i])), first if table else None)
        return self.name if at is None else f"{self.name}, line {at + 1}"


def read_toml(path: Path) -> TomlFile:
    """The TOML file at ``path``.  Raises FileError."""
    return toml(read_text(path), str(path))


def toml(text: str, name: str) -> TomlFile:
    """The TOML file of this text.  Raises FileError."""
    dotted = next((i for i, line in enumerate(text.splitlines(), 1) if line.count(".") > MOST_DOTS), 0)
    if dotted:
        raise FileError(f"{name}, line {dotted}: this is not TOML that can be read: more than {MOST_DOTS} dots")
    try:
        return TomlFile(name, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        at = re.match(r"line (\d+)", place)
        line = int(at[1]) if at else max(1, len(text.splitlines()))
        raise FileError(f"{name}, line {line}: this is not TOML: {message or error}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise FileError(f"{name}: this is not TOML that can be read: {error}") from None


def read_text(path: Path) -> str:
    """The text of a regular file in UTF-8 of at most LARGEST_BYTES.  Raises FileError for anything else, at once."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for its writer
        try:
            kind = stat.S_IFMT(os.fstat(handle).st_mode)
            content = _read(handle) if kind == stat.S_IFREG else b""
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {why(error)}") from None
    if kind != stat.S_IFREG:
        raise FileError(f"{path} cannot be read: it is {_KINDS.get(kind, 'a device')}, not a file")
    if len(content) > LARGEST_BYTES:
        raise FileError(f"{path} cannot be read: it has more than {LARGEST_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8") from None


def _read(handle: int) -> bytes:
    """The bytes of an open file, one more than LARGEST_BYTES at most."""
    content = b""
    while len(content) <= LARGEST_BYTES and (more := os.read(handle, LARGEST_BYTES + 1 - len(content))):
        content += more
    return content


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
    """The name to write a file under.  At the end of the block it gets its own, or is removed after an error."""
    part = _part(path)
    try:
        yield part
        os.replace(part, path.resolve())
    except BaseException:
        _remove(part)
        raise


def why_unwritable(path: Path) -> str:
    """Why a file cannot be written there, or "" if it can.  It tries, because permissions alone do not decide it."""
    try:
        if path.exists() and not path.is_file():
            return "it is a folder" if path.is_dir() else "it is not a regular file"
        part = _part(path)
        _make(part.parent)
        part.touch()
        part.unlink()
    except (OSError, ValueError) as error:
        return why(error)
    return ""


def _make(folder: Path) -> None:
    """Make a folder and those above it, which others may not write to, whatever the umask."""
    if not folder.exists():
        _make(folder.parent)
        folder.mkdir(0o755, exist_ok=True)


def why(error: Exception) -> str:
    """The reason of an OSError in words, without its path."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason[:1].lower() + reason[1:]


def _part(path: Path) -> Path:
    """The name under which ``path`` is written first: in the folder of what a link leads to, so that renaming works."""
    path = path.resolve()
    return path.with_name(f".{path.name[:50]}.{os.getpid()}.part")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        pass  # the error that led here is raised
