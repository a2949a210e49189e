"""Tables of measured times of the algorithms on a machine, and their TOML files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from ..arrays.dtypes import TABLE as DTYPES
from ..files import FileError, read_toml, write_whole
from ..settings import shown

REMEDY = "correct it, remove it, or run `python -m pennympi tune` again"


@dataclass(frozen=True)
class Series:
    """Times of the AllReduce algorithms for a dtype.

    sizes_bytes: sizes in rising order;  us: {algorithm: time in us at each size, nan if not measured}
    """

    dtype: str
    sizes_bytes: tuple[int, ...]
    us: Mapping[str, tuple[float, ...]]

    def times_at(self, nbytes: int) -> dict[str, float]:
        """{algorithm: us} for a size of ``nbytes``.

        Between two sizes, times are interpolated on logarithms, for the algorithms that were measured at both sizes.  If
        there are no such algorithms, the times at the larger size are returned, or, if it has none, those at the smaller
        size.  Above the largest size, times grow in proportion to the size.
        """
        upper = next((i for i, size in enumerate(self.sizes_bytes) if size >= nbytes), len(self.sizes_bytes))
        if upper == len(self.sizes_bytes):
            return {name: us * nbytes / self.sizes_bytes[-1] for name, us in self._measured(-1).items()}
        if upper == 0 or self.sizes_bytes[upper] == nbytes:
            return self._measured(upper)
        low, high = self._measured(upper - 1), self._measured(upper)
        smaller, larger = self.sizes_bytes[upper - 1 : upper + 1]
        share = math.log(nbytes / smaller) / math.log(larger / smaller)
        between = {name: low[name] ** (1 - share) * high[name] ** share for name in high if name in low}
        return between or high or low

    def _measured(self, i: int) -> dict[str, float]:
        return {name: us[i] for name, us in self.us.items() if not math.isnan(us[i])}


@dataclass(frozen=True)
class Tuned:
    """A table of measured times.

    note:   machine, date and command of the measurement
    source: name of its file
    """

    note: str
    series: tuple[Series, ...]
    source: str = ""

    def times(self, dtype: str, nbytes: int) -> dict[str, float]:
        """{algorithm: us}, from the measured dtype that is most like ``dtype``; {} without measurements."""
        wanted = DTYPES[dtype]

        def unlike(series: Series) -> tuple[bool, int, bool]:
            chosen = DTYPES[series.dtype]
            difference = abs(chosen.item_bytes - wanted.item_bytes)
            return (series.dtype != dtype, difference, chosen.acc_bytes != wanted.acc_bytes)

        return min(self.series, key=unlike).times_at(nbytes) if self.series else {}


def read(path: Path) -> Tuned:
    """The table in a file.  Raises FileError."""
    try:
        data = read_toml(path)
    except FileError as error:
        raise FileError(f"{error}; {REMEDY}") from None
    try:
        series = tuple(_series(entry["dtype"], entry["bytes"], entry["us"]) for entry in data["measured"])
        return Tuned(str(data["note"]), series, str(path))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        wrong = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise FileError(f"{path} is not a table of `python -m pennympi tune` ({wrong}); {REMEDY}") from None


def _series(dtype: str, sizes: list[int], us: dict[str, list[float]]) -> Series:
    """A [[measured]] table.  Raises ValueError, and Python's errors for values of other types."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype {shown(dtype)} is unknown")
    if not sizes or sizes != sorted(set(map(int, sizes))) or sizes[0] < 1:
        raise ValueError(f"bytes {shown(sizes)} do not rise")
    for name, times in us.items():
        if len(times) != len(sizes) or any(time <= 0 or math.isinf(time) for time in times):
            raise ValueError(f"{shown(name)} = {shown(times)} is not a time in us, or nan, for each size")
    return Series(dtype, tuple(sizes), {name: tuple(map(float, times)) for name, times in us.items()})


def write(tuned: Tuned, path: Path) -> None:
    """Write the whole file, or nothing.  Raises FileError."""
    measured = [
        {
            "collective": "allreduce",
            "dtype": series.dtype,
            "bytes": list(series.sizes_bytes),
            "us": {name: [float(f"{us:.4g}") for us in times] for name, times in series.us.items()},
        }
        for series in tuned.series
    ]
    text = tomli_w.dumps({"note": tuned.note, "measured": measured})
    write_whole(path, f"# Microseconds of one call; read by pennympi.init().\n{text}")
