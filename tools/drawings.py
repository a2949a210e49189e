"""Draw the algorithms as SVG: PEs side by side, hops downward, an arrow for each message.

python tools/drawings.py            write docs/drawings/*.svg
python tools/drawings.py --check    write nothing; status 1 if one is not what would be written

The colours are readable on white and on black.
"""

import math
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "drawings"
PARTIAL, COMPLETE, GREY = "#3b82c4", "#d97706", "#7d8590"
ACROSS, DOWN, RADIUS, LEFT, TOP = 92, 74, 15, 84, 30
HEADS = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    for name, colour in (("part", PARTIAL), ("done", COMPLETE))
)


def circle(x, y, text, filled):
    """A PE: grey before, coloured once it has complete data."""
    style = f'fill="{COMPLETE}"' if filled else f'fill="{GREY}"'
    return (
        f'<circle cx="{x}" cy="{y}" r="{RADIUS}" {style}/>'
        f'<text x="{x}" y="{y + 5}" fill="#fff" font-weight="bold" text-anchor="middle">{text}</text>'
    )


def arrow(x, y, to_x, to_y, complete):
    """A message, from edge to edge of two circles."""
    length = math.hypot(to_x - x, to_y - y)
    dx, dy = (to_x - x) * (RADIUS + 2) / length, (to_y - y) * (RADIUS + 2) / length
    colour, head = (COMPLETE, "done") if complete else (PARTIAL, "part")
    ends = f'x1="{x + dx:.1f}" y1="{y + dy:.1f}" x2="{to_x - dx:.1f}" y2="{to_y - dy:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="2" marker-end="url(#{head})"/>'


def picture(title, n, hops, done):
    """An SVG.  hops: [(label, complete, [(from, to), ...])], done: {row: its PEs that hold complete data}"""
    width, height = LEFT + ACROSS * (n - 1) + RADIUS + 20, TOP + DOWN * len(hops) + RADIUS + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13"><title>{title}</title><defs>{HEADS}</defs>'
    ]
    for row, (label, complete, messages) in enumerate(hops):
        y = TOP + DOWN * row
        parts.append(f'<text x="4" y="{y + DOWN / 2 + 4}" fill="{GREY}">{label}</text>')
        parts += [arrow(LEFT + ACROSS * a, y, LEFT + ACROSS * b, y + DOWN, complete) for a, b in messages]
    for row in range(len(hops) + 1):
        parts += [circle(LEFT + ACROSS * pe, TOP + DOWN * row, pe, pe in done.get(row, ())) for pe in range(n)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def all_to_all(n):
    return [(a, b) for a in range(n) for b in range(n) if a != b]


def swapped(n, distance):
    return [(pe, pe ^ distance) for pe in range(n)]


def drawings():
    """{name: SVG}"""
    round_ring = [(pe, (pe + 1) % 4) for pe in range(4)]
    every = range(4)
    last = {1: every}
    ring = [(f"step {s}", s > 2, round_ring) for s in range(6)]
    two = [("shot 1", False, all_to_all(4)), ("shot 2", True, all_to_all(4))]
    doubling = [("hop 1", False, swapped(4, 1)), ("hop 2", False, swapped(4, 2))]
    halving = [(f"hop {i + 1}", i > 1, swapped(4, d)) for i, d in enumerate((2, 1, 1, 2))]
    nodes = [("in the node", False, swapped(4, 1)), ("between", False, swapped(4, 2)),
             ("between", True, swapped(4, 2)), ("in the node", True, swapped(4, 1))]  # fmt: skip
    up = [[(1, 2), (3, 2), (5, 6), (7, 6)], [(2, 4), (6, 4)], [(4, 0)]]
    tree = [(f"up {i + 1}", False, hop) for i, hop in enumerate(up)]
    tree += [(f"down {i + 1}", True, [(b, a) for a, b in hop]) for i, hop in enumerate(reversed(up))]
    reached = {3: [0], 4: [0, 4], 5: [0, 4, 2, 6], 6: range(8)}
    spread = [("hop 1", True, [(0, 1), (0, 2), (0, 3)]), ("hop 2", True, [(a, b) for a, b in all_to_all(4) if a and b])]
    return {
        "ring": picture("ring, 4 PEs", 4, ring, {row: every for row in range(3, 7)}),
        "one_shot": picture("one_shot, 4 PEs", 4, [("one hop", False, all_to_all(4))], last),
        "two_shot": picture("two_shot, 4 PEs", 4, two, {1: every, 2: every}),
        "recursive_doubling": picture("recursive_doubling, 4 PEs", 4, doubling, {2: every}),
        "halving_doubling": picture("halving_doubling, 4 PEs", 4, halving, {2: every, 3: every, 4: every}),
        "half_butterfly": picture("half_butterfly, 6 PEs", 6, [
            ("in a half", False, [(a, b) for half in (0, 3) for a, b in _within(half)]),
            ("one swap", False, [(pe, (pe + 3) % 6) for pe in range(6)])], {2: range(6)}),
        "hierarchical": picture("hierarchical, 2 nodes of 2 PEs", 4, nodes, {2: every, 3: every, 4: every}),
        "tree": picture("tree, 8 PEs, one of its two trees", 8, tree, reached),
        "spread": picture("broadcast by spread, 4 PEs", 4, spread, {0: [0], 1: [0], 2: every}),
    }  # fmt: skip


def _within(start):
    return [(start + a, start + b) for a, b in all_to_all(3)]


def main(argv):
    made = {FOLDER / f"{name}.svg": text for name, text in drawings().items()}
    if "--check" in argv:
        stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
        print("\n".join(f"{path} is not what tools/drawings.py writes" for path in stale))
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
