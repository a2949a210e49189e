"""A picture of the streams of a sweep: an SVG, from the events of a GPU, or from the clock of a CPU."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..program.device import array_module
from .loop_kernels import NO_LOOP
from .solver import SweepBySweep

SWEEPS = 4  # number of sweeps, of which the last one is drawn: the first ones compile
COLOURS = {"all rows": "#4c78a8", "inner rows": "#4c78a8", "edge rows": "#72b7b2"}
METHODS = {"launch": "", "exchange": "exchange", "send": "put_signal to both", "receive": "wait_signal from both"}
EXCHANGE = "#e45756"
LEFT, WIDTH, ROW_HEIGHT = 110, 760, 34  # in pixels


class Span(NamedTuple):
    """A piece of work of a stream, in microseconds from the beginning of the sweep."""

    label: str
    stream: str
    start: float
    stop: float


def spans(solver: SweepBySweep) -> list[Span]:
    """The work of a sweep without a norm.  Changes the field.  Collective."""
    marked: list[tuple[str, str, Any, Any]] = []
    is_gpu = solver.team.backend == "cuda"

    def mark(stream: Any) -> Any:
        return stream.record() if is_gpu else time.perf_counter()

    def traced(label: str, method: Callable[..., None]) -> Callable[..., None]:
        def run(stream: Any, *args: Any, **rows: bool) -> None:
            name = label or ("all rows" if len(rows) == 0 else "edge rows" if "inner" in rows else "inner rows")
            start = mark(stream)
            method(stream, *args, **rows)
            marked.append((name, "stream" if stream is solver.stream else "push stream", start, mark(stream)))

        return run

    names = [name for name in METHODS if hasattr(solver, name)]
    for name in names:
        setattr(solver, name, traced(METHODS[name], getattr(solver, name)))
    for _ in range(SWEEPS):
        marked.clear()
        solver.team.comm.Barrier()
        solver.sweep(solver.stream, NO_LOOP)
        solver.finish()
        solver.fields.advance()
    for name in names:
        delattr(solver, name)
    ms_of = array_module(solver.team).cuda.get_elapsed_time if is_gpu else lambda start, stop: 1e3 * (stop - start)
    first = marked[0][2]
    return [Span(name, row, 1e3 * ms_of(first, start), 1e3 * ms_of(first, stop)) for name, row, start, stop in marked]


def draw(path: Path, title: str, work: list[Span]) -> None:
    """Write the SVG."""
    rows = list(dict.fromkeys(span.stream for span in work))
    first, last = min(span.start for span in work), max(span.stop for span in work)
    scale, axis_y = WIDTH / max(last - first, 1e-3), 40 + ROW_HEIGHT * len(rows)
    parts = [f'<text x="8" y="18" font-weight="bold">{title}</text>']
    for k, row in enumerate(rows):
        parts.append(f'<text x="8" y="{52 + ROW_HEIGHT * k}">{row}</text>')
    for k, span in enumerate(work):
        x, wide = LEFT + scale * (span.start - first), max(scale * (span.stop - span.start), 1)
        colour, y = COLOURS.get(span.label, EXCHANGE), 34 + ROW_HEIGHT * rows.index(span.stream)
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="26" fill="{colour}" stroke="white"/>')
        text = f"{span.label}: {span.stop - span.start:.1f} us, from {span.start - first:.1f} us on"
        parts.append(f'<rect x="{LEFT}" y="{axis_y + 28 + 20 * k}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 20}" y="{axis_y + 39 + 20 * k}">{text} ({span.stream})</text>')
    for k in range(5):
        x, us = LEFT + WIDTH * k / 4, (last - first) * k / 4
        parts.append(f'<text x="{x:.0f}" y="{axis_y + 12}" text-anchor="middle">{us:.1f} us</text>')
    size = f'width="{LEFT + WIDTH + 50}" height="{axis_y + 40 + 20 * len(work)}"'
    style = 'font-family="sans-serif" font-size="13"'
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n")
