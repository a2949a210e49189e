"""Tables of measured times: how long each algorithm took on one machine."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..arrays.dtypes import TABLE as DTYPES


@dataclass(frozen=True)
class Series:
    """Times of the algorithms of a collective for one dtype.

    sizes_bytes: rising;  us: {algorithm: its time in us at each size, nan if not measured}
    """

    collective: str
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

    device, pes, topology: of the machine;  note: when and how it was measured
    source: the file that it was read from, in words
    """

    device: str
    pes: int
    topology: str
    note: str
    series: tuple[Series, ...]
    source: str = ""

    def times(self, collective: str, dtype: str, nbytes: int) -> dict[str, float]:
        """{algorithm: us}, from the measured dtype that is most like ``dtype``; {} if there is none."""
        wanted = DTYPES[dtype]

        def unlike(one: Series) -> tuple[bool, int, bool]:
            row = DTYPES[one.dtype]
            return (one.dtype != dtype, abs(row.item_bytes - wanted.item_bytes), row.acc_bytes != wanted.acc_bytes)

        fitting = [one for one in self.series if one.collective == collective]
        return min(fitting, key=unlike).at(nbytes) if fitting else {}
