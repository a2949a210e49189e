"""What shows that a checkpoint is whole and as it was written: the seal, and a checksum for each row.

The seal is the first 512 bytes of the file, which HDF5 leaves to the user: the format, the size of the file, where the
rows of the fields lie, the SHA-256 of every other byte (attributes, history, checksums of the rows, HDF5's own records),
and the SHA-256 of the seal itself.  It is checked before HDF5 looks at the file, which may crash on damaged records.
The rows have a CRC-32 each, so that every PE computes and checks its own, on any number of PEs.
"""

import hashlib
import json
import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

FORMAT = "pennympi jacobi 3"
SEAL_BYTES = 512  # the smallest user block of HDF5
TEXT_BYTES = SEAL_BYTES - hashlib.sha256().digest_size
READ_BYTES = 16 << 20


def row_checksums(rows: np.ndarray) -> np.ndarray:
    """The CRC-32 of each row of (n, nx), as (n,) uint32."""
    return np.array([zlib.crc32(row) for row in rows], np.uint32)


def write_seal(path: Path, fields: Mapping[str, tuple[int, int]]) -> None:
    """Seal a file with an empty user block.  fields: name -> (offset, bytes) of its rows.  Raises OSError."""
    with open(path, "r+b") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        facts = {"size_bytes": size_bytes, "fields": fields, "sha256": _digest(file, size_bytes, fields)}
        text = f"{FORMAT}\n{json.dumps(facts)}\n".encode().ljust(TEXT_BYTES)
        file.seek(0)
        file.write(text + hashlib.sha256(text).digest())


def check_seal(path: Path) -> str:
    """Check all but the rows.  Returns what tells this file from others.  Raises ValueError that says what is wrong."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would wait for its writer
            raise ValueError("it is not a regular file")
        with open(path, "rb") as file:
            return _checked(file)
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except OSError as error:
        raise ValueError(f"it cannot be read ({(error.strerror or str(error)).lower()})") from None


def _checked(file: BinaryIO) -> str:
    seal, size_bytes = file.read(SEAL_BYTES), os.fstat(file.fileno()).st_size
    text, digest = seal[:TEXT_BYTES], seal[TEXT_BYTES:]
    if hashlib.sha256(text).digest() != digest:
        raise ValueError(
            f"it does not begin with the seal of {FORMAT!r}: another program or version wrote it, or it is damaged there"
        )
    facts = json.loads(text.split(b"\n")[1])
    if size_bytes != facts["size_bytes"]:
        raise ValueError(f"it is damaged: it has {size_bytes} bytes of {facts['size_bytes']}")
    if _digest(file, size_bytes, facts["fields"]) != facts["sha256"]:
        raise ValueError("it is damaged, or was changed, outside the rows of its fields")
    return digest.hex()


def _digest(file: BinaryIO, size_bytes: int, fields: Mapping[str, tuple[int, int]]) -> str:
    """The SHA-256 of every byte that is neither in the seal nor in the rows."""
    digest, start = hashlib.sha256(), SEAL_BYTES
    for offset, length in [*sorted(map(tuple, fields.values())), (size_bytes, 0)]:
        file.seek(start)
        while start < offset:
            part = file.read(min(READ_BYTES, offset - start))
            if not part:
                raise OSError("it ends too early")
            digest.update(part)
            start += len(part)
        start += length
    return digest.hexdigest()
