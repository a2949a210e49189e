"""Where the time of a sweep goes, computed from the intervals in which something ran."""

from dataclasses import dataclass, field

Interval = tuple[float, float]  # (begin, end) in s
PHASES = ("compute", "halo", "norm")


def union(intervals: list[Interval]) -> list[Interval]:
    """The union of the intervals, as disjoint intervals in order."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def length(intervals: list[Interval]) -> float:
    """Length of the union of the intervals, in s."""
    return sum(end - begin for begin, end in union(intervals))


@dataclass
class Phases:
    """What ran when, during ``sweeps`` sweeps of one PE.

    total_s: from the start to the end;  busy: for each of PHASES, the intervals in which it ran
    """

    sweeps: int
    total_s: float
    busy: dict[str, list[Interval]] = field(default_factory=lambda: {phase: [] for phase in PHASES})

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase; "exposed": halo without compute; "nothing": no phase at all, the host's share."""
        computing = self.busy["compute"]
        spent = {phase: length(self.busy[phase]) for phase in PHASES}
        exposed = length(computing + self.busy["halo"]) - spent["compute"]
        everything = length([one for intervals in self.busy.values() for one in intervals])
        return {**spent, "exposed": exposed, "nothing": max(self.total_s - everything, 0.0)}

    def per_sweep_us(self) -> dict[str, float]:
        """``seconds`` and "total", in us for one sweep."""
        return {name: 1e6 * s / self.sweeps for name, s in {**self.seconds(), "total": self.total_s}.items()}


def overlap_percent(us: dict[str, float]) -> float | None:
    """The share of the halo exchange that computation hides, in per cent; None if kernels do both."""
    return 100.0 * (1.0 - us["exposed"] / us["halo"]) if us["halo"] > 0 else None


def overlap_text(us: dict[str, float]) -> str:
    """``overlap_percent`` in words."""
    share = overlap_percent(us)
    if share is None:
        return "exchanged inside the sweep's kernels"
    return f"{share:.0f} % of the exchange hidden behind compute"


def mean(per_pe: list[dict[str, float]]) -> dict[str, float]:
    """The mean over the PEs."""
    return {name: sum(us[name] for us in per_pe) / len(per_pe) for name in per_pe[0]}


def table(per_pe: list[dict[str, float]]) -> list[str]:
    """A table of the mean over the PEs, the slowest PE, and the share of a sweep.  per_pe: ``per_sweep_us`` of each"""
    lines = [f"{'phase':<34}{'mean us':>10}{'most us':>10}{'share':>8}"]
    average = mean(per_pe)
    names = {
        "compute": "compute",
        "halo": "halo: rows, signals and waits",
        "exposed": "  of it not hidden by compute",
        "norm": "norm: sum over the PEs",
        "nothing": "nothing (host, gaps)",
        "total": "an iteration",
    }
    for name, text in names.items():
        most, share = max(us[name] for us in per_pe), 100.0 * average[name] / average["total"]
        lines.append(f"{text:<34}{average[name]:>10.1f}{most:>10.1f}{share:>7.1f}%")
    return [*lines, f"Halo: {overlap_text(average)}"]
