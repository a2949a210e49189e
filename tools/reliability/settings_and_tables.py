"""Row 30: broken tuned tables, layouts, settings and command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, ROOT, TRACEBACK, Stage, last_words, left, unexpected

VALUES = {
    "PENNYMPI_BACKEND": ("gpu", "host,cuda", "hos t"),
    "PENNYMPI_TIMEOUT_S": ("soon", "-1", "nan", "inf", "1e400", "1e12", "5s"),
    "PENNYMPI_SYMMETRIC_SIZE": ("-5", "1.5g", "99999999g", "g", "0", "1e9", "512mb", "9" * 40),
    "PENNYMPI_FORCE_NVSHMEM_PUT": ("yes", "2"),
    "PENNYMPI_MULTICAST": ("1", "on"),
    "PENNYMPI_PACKETS": ("yes", "-1"),
    "PENNYMPI_TOPOLOGY": ("nowhere.toml", "two-nodes-of", "0-nodes-of-4", "3-nodes-of-5", "two-nodes-of-minus-one", "/"),
    "PENNYMPI_COUNT_BYTES": ("true", "3"),
    "PENNYMPI_FIRST_EPOCH": ("-1", "one", "9" * 30, "0x"),
    "PENNYMPI_ALLREDUCE": ("best", "ring;", "nothing", "/"),
    "PENNYMPI_TUNED": ("nowhere.toml", "/", "/dev/null/x"),
    "PENNYMPI_PUT_KERNEL_MAX_BYTES": ("-1", "1t", "99999999999999999999999"),
    "PENNYMPI_DEBUG": ("yes", "2", "-1"),
    "PENNYMPI_BROADCAST": ("quick",),
}
TABLES = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00junk\xc3\x28",
    "not TOML": b"[[node\n",
    "a number": b"x = 3\n",
    "no rows": b'[machine]\ndevice = "x"\n',
    "nested": b"[" * 5000,
    "huge": b"pes = 99999999999999999999\n[[node]]\npes = 99999999999999\n",
    "zero": b"[[node]]\ncount = 0\npes = 0\n",
    "negative": b"[[node]]\ncount = -1\npes = -2\n",
    "strings": b'[[node]]\ncount = "two"\npes = "four"\n',
    "too many": b"[[node]]\ncount = 1000000000\npes = 1000000000\n",
    "twice": b"[[node]]\npes = [0, 0]\n[[node]]\npes = [0, 1]\n",
    "missing PEs": b"[[node]]\npes = [0]\n",
    "bad rails": b"[[node]]\npes = 2\nrails = [0]\n",
    "bad nics": b"[[node]]\npes = 2\nrails = [0, 9]\nnics = [1]\n",
    "nan": b"[[row]]\nbytes = nan\nus = nan\n",
    "inf": b"[[row]]\nbytes = inf\nus = -inf\n",
    "dates": b"[[row]]\nbytes = 1979-05-27\n",
}
LINES = (
    "bench", "bench nothing", "bench allreduce -b x", "bench allreduce -b 8 -e 4", "bench allreduce -n -5",
    "bench allreduce -f 0", "bench allreduce -f 1", "bench allreduce -f nan", "bench allreduce -w -1",
    "bench allreduce -d nothing", "bench allreduce -o nothing", "bench broadcast -r 99 --sizes 64",
    "bench broadcast -r -1 --sizes 64", "bench allreduce --algorithm nothing", "bench allreduce --sizes 1,x",
    "bench allreduce --sizes -4", "bench allreduce --against nothing", "bench allreduce --budget-ms -1",
    "bench allreduce --budget-ms nan", "bench allreduce --blocks 0 --sizes 64", "bench allreduce --threads 7 --sizes 64",
    "bench allreduce --piece-bytes 0 --sizes 64", "bench allreduce --topology nothing", "bench allreduce -b 99999999999G",
    "bench accuracy --elements -1", "bench accuracy --elements 0", "bench allreduce --output /nowhere/x.json --sizes 64",
    "bench allreduce -i -5", "bench put -r 5 --sizes 64", "explain", "explain x", "explain -5", "explain 64K -d nothing",
    "explain 99999999999G", "explain --predict nothing", "topology --topology nothing", "topology --nothing", "nothing",
    "tune --nothing", "tune -n -5",
)  # fmt: skip


def settings(stage: Stage) -> Iterator[Case]:
    pairs = [(name, value) for name, values in VALUES.items() for value in values]
    for name, value in stage.some(pairs, len(pairs)):
        ended = stage.job(2, PROGRAMS / "misuse.py", "outstanding_at_finalize", **{name: value})
        failure = _one_error(ended, name)
        if ended.rc == 0 and _harmless(name, value):
            failure = left(ended)
        yield Case("a bad setting", 1, failure and f"{name}={value[:40]}: {failure}")
    for name, values in {"PENNYMPI_ALLREDUCE": ("ring", "tree"), "PENNYMPI_TIMEOUT_S": ("20", "30"),
                         "PENNYMPI_SYMMETRIC_SIZE": ("8m", "16m"), "PENNYMPI_DEBUG": ("0", "1"),
                         "PENNYMPI_PACKETS": ("0", "auto")}.items():  # fmt: skip
        choose = 'r=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; if [ "$r" = 1 ]; then export "$0"; fi; exec "$@"'
        inside = ["sh", "-c", choose, f"{name}={values[1]}"]
        ended = stage.job(2, PROGRAMS / "places.py", "allreduce", inside=inside, **{name: values[0]})
        failure = _one_error(ended, name)
        if name == "PENNYMPI_PACKETS" and ended.rc == 0:  # documented: 0 on any PE turns them off
            failure = left(ended)
        yield Case("a setting that differs between PEs", 1, failure and f"{name}: {failure}")


def tables(stage: Stage) -> Iterator[Case]:
    path = stage.folder / "table.toml"
    real = sorted((ROOT / "pennympi" / "selection" / "measured").glob("*.toml"))
    data = dict(TABLES)
    if real:
        good = real[0].read_bytes()
        at = stage.random.randrange(len(good) // 2, len(good))
        data |= {"cut": good[:at], "binary inside": good[:at] + b"\x00\xff" + good[at:]}
        data |= {"a word for a number": re.sub(rb"= \d[\d.]*", b'= "x"', good, count=3)}
        data |= {"zeros for numbers": re.sub(rb"\b[1-9][\d.]*", b"0", good)}
        data |= {"negative numbers": re.sub(rb"= (\d)", rb"= -\1", good)}
    for name in stage.some(list(data), len(data)):
        path.write_bytes(data[name])
        for variable in ("PENNYMPI_TUNED", "PENNYMPI_TOPOLOGY"):
            ended = stage.job(2, PROGRAMS / "misuse.py", "outstanding_at_finalize", **{variable: str(path)})
            failure = _one_error(ended, path.name)
            if variable == "PENNYMPI_TUNED" and ended.rc == 0 and name == "cut":
                failure = left(ended)  # cut at the end of a line, it may be a table
            yield Case(f"a bad table for {variable}", 1, failure and f"{name}: {failure}")


def command_lines(stage: Stage) -> Iterator[Case]:
    for line in stage.some(LINES, len(LINES)):
        ended = stage.job(2, "-m", "pennympi", *line.split(), limit_s=40)
        if ended.rc is None:
            failure = "runs on" if "hang" not in line else "hangs"
        elif ended.rc == 0:
            failure = "is accepted"
        elif TRACEBACK in ended.output:
            failure = f"a traceback: {last_words(ended)}"
        else:
            failure = left(ended)
        yield Case("a bad command line", 1, failure and f"{line}: {failure}")


def all_of_it(stage: Stage) -> Iterator[Case]:
    yield from settings(stage)
    yield from tables(stage)
    yield from command_lines(stage)


def _one_error(ended, name: str) -> str:
    """Whether the job ended with one error that names the variable or the file."""
    if ended.rc == 0:
        return "is accepted"
    if ended.rc is None:
        return unexpected(ended, 100)
    if ended.output.count(TRACEBACK) > 1:
        return f"{ended.output.count(TRACEBACK)} tracebacks"
    return left(ended) if name in ended.output else f"does not name {name}: {last_words(ended)}"


def _harmless(name: str, value: str) -> bool:
    """Values that may be taken for what they say: a very long deadline, hexadecimal, capital letters."""
    return (name, value) in (("PENNYMPI_SYMMETRIC_SIZE", "1e9"),)


ROWS = [
    Row("30", "59 bad settings, 5 that differ between PEs, 23 broken tables and layouts, 40 bad command lines",
        "one error that names the variable, the file or the argument; no traceback of a command", 330, all_of_it),
]  # fmt: skip
