"""The TOML file of a table of measured times: read and checked line by line, and written."""

from pathlib import Path
from typing import Any

import tomli_w

from ..arrays.dtypes import TABLE as DTYPES
from ..files import FileError, TomlFile, read_text, toml, write_whole
from ..kernels.allreduce import PLANNED, TABLE
from ..settings import shown
from .tuned import Series, Tuned

REMEDY = "correct it, remove it, or run `python -m pennympi tune` again"
ALGORITHMS = [*TABLE, *PLANNED]
MOST_PES, MOST_BYTES, MOST_US = 1 << 20, 1 << 50, 1e12
_KEYS, _SERIES_KEYS = ("device", "pes", "topology", "note"), ("collective", "dtype", "bytes", "us")


def read(path: Path) -> Tuned:
    """The table in a file.  Raises FileError."""
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> Tuned:
    """The table in a text; messages call it ``name``.  Raises FileError."""
    try:
        file = toml(text, name)
    except FileError as error:
        raise FileError(f"{error}; {REMEDY}") from None
    return _table(file)


def _table(file: TomlFile) -> Tuned:
    def check(right: bool, key: str, said: str) -> None:
        if not right:
            raise FileError(f"{file.line(key)}: {said}; {REMEDY}")

    data = file.data
    unknown = next((key for key in data if key not in (*_KEYS, "measured")), "")
    check(not unknown, unknown, f"{shown(unknown)} is unknown in a table of `python -m pennympi tune`")
    for key in _KEYS:
        value = data.get(key, "" if key == "note" else None)
        check(value is not None, "", f"{key} is missing in this table of `python -m pennympi tune`")
        right = _whole(value, MOST_PES) if key == "pes" else isinstance(value, str) and len(value) <= 1000
        check(
            right, key, f"{key} = {shown(value)} is not {f'a number from 1 to {MOST_PES}' if key == 'pes' else 'a text'}"
        )
    measured = data.get("measured")
    check(isinstance(measured, list) and bool(measured), "measured", "there is no [[measured]] table")
    series = tuple(_series(file, number, one) for number, one in enumerate(measured or ()))
    kinds = [(one.collective, one.dtype) for one in series]
    twice = next((kind for i, kind in enumerate(kinds) if kind in kinds[:i]), None)
    check(twice is None, "", f"there are two [[measured]] tables of {twice and ' '.join(twice)}")
    return Tuned(data["device"], data["pes"], data["topology"], data.get("note", ""), series, file.name)


def _series(file: TomlFile, number: int, data: Any) -> Series:
    """The ``number``-th [[measured]] table.  Raises FileError, which names the line."""

    def check(right: bool, key: str, said: str) -> None:
        if not right:
            raise FileError(f"{file.line(key, 'measured', number)}: {said}; {REMEDY}")

    check(isinstance(data, dict), "", f"{shown(data)} is not a [[measured]] table")
    unknown = next((key for key in data if key not in _SERIES_KEYS), "")
    check(not unknown, unknown, f"{shown(unknown)} is unknown; a [[measured]] has {', '.join(_SERIES_KEYS)}")
    missing = next((key for key in _SERIES_KEYS if key not in data), "")
    check(not missing, "", f"{missing} is missing in this [[measured]] table")
    collective, dtype, sizes, us = (data[key] for key in _SERIES_KEYS)
    check(collective == "allreduce", "collective", f"collective = {shown(collective)} is unknown: there is allreduce")
    known = isinstance(dtype, str) and dtype in DTYPES
    check(known, "dtype", f"dtype = {shown(dtype)} is unknown: use one of {', '.join(DTYPES)}")
    whole = isinstance(sizes, list) and bool(sizes) and all(_whole(size, MOST_BYTES) for size in sizes)
    rising = whole and sizes == sorted(set(sizes))
    check(rising, "bytes", f"bytes = {shown(sizes)} is not a list of rising sizes from 1 to {MOST_BYTES}")
    check(isinstance(us, dict) and bool(us), "us", f"us = {shown(us)} holds no algorithm")
    for name, times in us.items():
        check(name in ALGORITHMS, name, f"algorithm {shown(name)} is unknown: use some of {', '.join(ALGORITHMS)}")
        fitting = isinstance(times, list) and len(times) == len(sizes)
        check(fitting, name, f"{name} = {shown(times)} is not a list of {len(sizes)} times, one for each of bytes")
        bad = next((time for time in times if not _time(time)), None)
        check(bad is None, name, f"{name} holds {shown(bad)}, which is neither nan nor a time from 0 to {MOST_US:g} us")
    return Series(collective, dtype, tuple(sizes), {name: tuple(map(float, times)) for name, times in us.items()})


def _whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _time(value: Any) -> bool:
    """True for a time in us, and for nan: not measured."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and (value != value or 0 < value <= MOST_US)


def text_of(tuned: Tuned) -> str:
    """The text of the file."""
    measured = [
        {
            "collective": one.collective,
            "dtype": one.dtype,
            "bytes": list(one.sizes_bytes),
            "us": {name: [_four_digits(us) for us in times] for name, times in one.us.items()},
        }
        for one in tuned.series
    ]
    head = {"device": tuned.device, "pes": tuned.pes, "topology": tuned.topology, "note": tuned.note}
    return f"# Microseconds of one call; read by pennympi.init().\n{tomli_w.dumps(head | {'measured': measured})}"


def _four_digits(us: float) -> float:
    return float(f"{us:.4g}" if us < 1e4 else f"{us:.0f}")


def write(tuned: Tuned, path: Path) -> None:
    """Write the file as a whole or not at all.  Raises FileError."""
    write_whole(path, text_of(tuned))
