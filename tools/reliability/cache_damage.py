"""Row 29: kept kernels that are damaged, planted, unwritable or another user's."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from .case import Case, Row
from .stage import PROGRAMS, TRACEBACK, Stage, last_words, unexpected

LIMIT_S = 150.0


class Planted:
    """A pickle that writes a file when it is read."""

    def __init__(self, proof: Path):
        self.proof = proof

    def __reduce__(self):
        return os.system, (f"touch {self.proof}",)


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :] if data else b"x"


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".lock", ".toml"))


def run(stage: Stage, cache: Path, **more: str):
    """A job of two PEs that loads kernels from the cache and checks its results."""
    line = (PROGRAMS / "misuse.py", "outstanding_at_finalize")
    return stage.job(2, *line, limit_s=LIMIT_S, timeout_s=120, PENNYMPI_CACHE_DIR=str(cache), **more)


def right_or_refused(ended, words: str = "") -> str:
    """Compiled anew, or one error that names the file or folder."""
    if ended.rc == 0 and "held" in ended.output:
        return ""
    if words and ended.rc not in (None, 0) and words in ended.output and ended.output.count(TRACEBACK) <= 1:
        return ""
    return unexpected(ended, LIMIT_S)


def damage(stage: Stage) -> Iterator[Case]:
    good = stage.folder / "cache"
    first = run(stage, good)
    yield Case("a new folder", 1, right_or_refused(first) or ("" if files_of(good) else "nothing is kept"))
    modes = {path: path.stat().st_mode & 0o077 for path in (good, *files_of(good))}
    open_ones = [path.name for path, mode in modes.items() if mode]
    yield Case("modes", 1, f"open to others: {', '.join(open_ones[:3])}" if open_ones else "")
    bad = stage.folder / "bad-cache"

    def fresh() -> list[Path]:
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(good, bad)
        return files_of(bad)

    def flipped(path: Path, others: list[Path]) -> None:
        data = path.read_bytes()
        path.write_bytes(_flip(data, stage.random.randrange(max(1, len(data)))))

    def truncated(path: Path, others: list[Path]) -> None:
        path.write_bytes(path.read_bytes()[: stage.random.randrange(max(1, path.stat().st_size))])

    def swapped(path: Path, others: list[Path]) -> None:
        path.write_bytes(stage.random.choice([one for one in others if one.suffix == path.suffix]).read_bytes())

    def emptied(path: Path, others: list[Path]) -> None:
        path.write_bytes(b"")

    kinds: list[Callable[[Path, list[Path]], None]] = [flipped, truncated, swapped, emptied]
    for kind in stage.some(kinds, 24):
        files = fresh()
        for path in stage.random.sample(files, max(1, len(files) // 3)):
            kind(path, files)
        failure = right_or_refused(run(stage, bad)) or right_or_refused(run(stage, bad))
        yield Case(f"{kind.__name__} files", 1, failure)
    fresh()
    proof = stage.folder / "planted"
    for path in files_of(bad):
        path.write_bytes(pickle.dumps(Planted(proof)))
    failure = right_or_refused(run(stage, bad), str(bad))
    yield Case("a planted pickle", 1, "it ran" if proof.exists() else failure)
    fresh()
    for path in [bad, *(path for path in bad.iterdir() if path.is_dir())]:
        path.chmod(0o777)
    ended = run(stage, bad)
    yield Case("a folder that others may write to", 1, right_or_refused(ended, str(bad)))
    target = stage.folder / "target"
    target.write_text("precious")
    fresh()
    for path in list(bad.rglob("*.lock")):
        path.unlink()
        path.symlink_to(target)
    for path in files_of(bad)[:3]:
        path.unlink()
        path.symlink_to(target)
    failure = right_or_refused(run(stage, bad), str(bad))
    yield Case("links", 1, failure or ("" if target.read_text() == "precious" else "the target of a link was written"))
    occupied = stage.folder / "occupied"
    occupied.write_text("a file")
    for name, variables in {
        "a file in the folder's place": {"PENNYMPI_CACHE_DIR": str(occupied / "x")},
        "no HOME": {"PENNYMPI_CACHE_DIR": "", "HOME": "", "XDG_CACHE_HOME": ""},
        "a HOME that is not there": {"PENNYMPI_CACHE_DIR": "", "HOME": "/nowhere", "XDG_CACHE_HOME": "/proc/x"},
        "/dev/full": {"PENNYMPI_CACHE_DIR": "/dev/full"},
    }.items():
        ended = stage.job(
            2, PROGRAMS / "misuse.py", "outstanding_at_finalize", limit_s=LIMIT_S, timeout_s=120, **variables
        )
        said = len(re.findall("Warning: .*(?:can't be|not) kept", ended.output))  # not in the line of code below it
        failure = right_or_refused(ended) or ("" if said <= 1 else f"said {said} times")
        yield Case(name, 1, failure and f"{failure}; {last_words(ended)}")
    if shutil.which("unshare") and os.geteuid() == 0 and not stage.n_gpus:
        disk = stage.folder / "small"
        disk.mkdir()
        around = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=16k tmpfs "$0"; exec "$@"', str(disk)]
        line = (PROGRAMS / "misuse.py", "outstanding_at_finalize")
        ended = stage.job(2, *line, limit_s=LIMIT_S, timeout_s=120, around=around, PENNYMPI_CACHE_DIR=str(disk))
        yield Case("a full disk", 1, right_or_refused(ended))
    yield stage.suite("the cache's tests", 0, "library/test_cache.py", limit_s=400)


ROWS = [
    Row("29", "kept kernels flipped, truncated, swapped, emptied, planted, linked; folders open to others, unwritable",
        "compiled anew or refused by name; nothing planted runs, no link is followed; 0700 and 0600", 240, damage),
]  # fmt: skip
