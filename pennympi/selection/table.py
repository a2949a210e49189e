"""Tables of measured times: how long each algorithm took on one machine, and their TOML files."""

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
    """Times of the AllReduce algorithms for one dtype.

    sizes_bytes: rising;  us: {algorithm: its time in us at each size, nan if not measured}
    """

    dtype: str
    sizes_bytes: tuple[int, ...]
    us: Mapping[str, tuple[float, ...]]

    def at(self, nbytes: int) -> dict[str, float]:
        """{algorithm: us} for a size of ``nbytes``.

        Between two sizes, times are interpolated on logarithms, for the algorithms that were measured at both; if there
        are none, the times at the larger size hold, or else those at the smaller.  Beyond the largest size, times grow
        in proportion to the size.
        """
        above = next((i for i, size in enumerate(self.sizes_bytes) if size >= nbytes), len(self.sizes_bytes))
        if above == len(self.sizes_bytes):
            return {name: us * nbytes / self.sizes_bytes[-1] for name, us in self._measured(-1).items()}
        if above == 0 or self.sizes_bytes[above] == nbytes:
            return self._measured(above)
        low, high = self._measured(above - 1), self._measured(above)
        smaller, larger = self.sizes_bytes[above - 1 : above + 1]
        share = math.log(nbytes / smaller) / math.log(larger / smaller)
        both = {name: low[name] ** (1 - share) * high[name] ** share for name in high if name in low}
        return both or high or low

    def _measured(self, i: int) -> dict[str, float]:
        return {name: us[i] for name, us in self.us.items() if not math.isnan(us[i])}


@dataclass(frozen=True)
class Tuned:
    """One table.

    note:   on what machine, when and how it was measured
    source: the file that it was read from, in words
    """

    note: str
    series: tuple[Series, ...]
    source: str = ""

    def times(self, dtype: str, nbytes: int) -> dict[str, float]:
        """{algorithm: us}, from the measured dtype that is most like ``dtype``; {} if there is none."""
        wanted = DTYPES[dtype]

        def unlike(one: Series) -> tuple[bool, int, bool]:
            chosen = DTYPES[one.dtype]
            return (one.dtype != dtype, abs(chosen.item_bytes - wanted.item_bytes), chosen.acc_bytes != wanted.acc_bytes)

        return min(self.series, key=unlike).at(nbytes) if self.series else {}


def read(path: Path) -> Tuned:
    """The table in a file.  Raises FileError."""
    try:
        data = read_toml(path)
    except FileError as error:
        raise FileError(f"{error}; {REMEDY}") from None
    try:
        series = tuple(_series(one["dtype"], one["bytes"], one["us"]) for one in data["measured"])
        return Tuned(str(data["note"]), series, str(path))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        wrong = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise FileError(f"{path} is not a table of `python -m pennympi tune` ({wrong}); {REMEDY}") from None


def _series(dtype: str, sizes: list[int], us: dict[str, list[float]]) -> Series:
    """One [[measured]] table.  Raises ValueError, and what Python raises for values of other types."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype {shown(dtype)} is unknown")
    if not sizes or sizes != sorted(set(map(int, sizes))) or sizes[0] < 1:
        raise ValueError(f"bytes {shown(sizes)} do not rise")
    for name, times in us.items():
        if len(times) != len(sizes) or any(time <= 0 or math.isinf(time) for time in times):
            raise ValueError(f"{shown(name)} = {shown(times)} is not a time in us, or nan, for each size")
    return Series(dtype, tuple(sizes), {name: tuple(map(float, times)) for name, times in us.items()})


def write(tuned: Tuned, path: Path) -> None:
    """Write the file as a whole or not at all.  Raises FileError."""
    measured = [
        {
            "collective": "allreduce",
            "dtype": one.dtype,
            "bytes": list(one.sizes_bytes),
            "us": {name: [float(f"{us:.4g}") for us in times] for name, times in one.us.items()},
        }
        for one in tuned.series
    ]
    text = tomli_w.dumps({"note": tuned.note, "measured": measured})
    write_whole(path, f"# Microseconds of one call; read by pennympi.init().\n{text}")
