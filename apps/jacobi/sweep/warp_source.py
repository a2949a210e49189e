"""T sweeps in one pass over memory: the text of a warp of a GPU that marches down the rows.

A warp holds 32 lanes x WIDTH columns of three rows of each of T time levels in registers.  A row of the field comes
in at level 0, and ripples through: level s+1 of the row above can now be computed, level s+2 of the row above that,
and so on; level T is stored.  A column's east and west neighbours are in registers, or in those of the next lane (a
shuffle).  Each sweep spoils one more column at the warp's edges, and the outermost EDGE columns are computed by two
warps: no shared memory, no barrier.  The three rows of a level take turns (u above, c itself, d below), so the loop
does three rows a turn and copies no register.

``source`` writes such a function for one T.  What needs a GPU in it is a word of ``march_cuda.py``; with other words, a
test runs the same text on NumPy arrays of 32 lanes.

References: streaming along one axis with the planes in registers is Micikevicius's 3D finite difference (GPGPU-2, 2009);
many time levels a pass, AN5D's (Matsumura and others, CGO 2020), which passes them through shared memory.
"""

from ..norm.exact_sum import EDGE, LANE_BYTES, LANES, WIDTH, segment

# Of so many sweeps a pass, rows from the one that is read to the one that is fetched into the L2 cache (0: none), as
# measured on an H200.  Where a row takes long, its warps' loads are too few to cover the memory's latency; where it does
# not, lines that are fetched early are driven out again before they are read.
PREFETCH_ROWS = {1: 0, 2: 2, 4: 2}
MAX_PREFETCH_ROWS = 3
SIGNATURE = "(b, count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch)"


def source(sweeps: int, norms: str, dtype: str, rest: int, name: str) -> str:
    """The text of ``march`` (see ``sweep.py``) for so many sweeps.

    norms: "none", "last" (of the last sweep) or "all";  rest: place of column nx-1 among its lane's columns
    """
    lines = _start(sweeps, norms, dtype)
    rows = {letter: [_row(s, letter, WIDTH[dtype]) for s in range(sweeps + 1)] for letter in ("u", "c", "d")}
    lines += [f"{one} = zero" for levels in rows.values() for row in levels[:sweeps] for one in row]

    def load(into: str) -> list[str]:
        prefetch_rows = PREFETCH_ROWS.get(sweeps, MAX_PREFETCH_ROWS)
        fetch = [f"fetch(least(old + {prefetch_rows} * pitch_bytes, final))"] if prefetch_rows else []
        return [f"{', '.join(rows[into][0])} = load_row(old)", *fetch, "old += pitch_bytes"]

    def advance(s: int, u: str, c: str, d: str) -> list[str]:
        """Row d has come in at level s: the row above it at level s+1."""
        lines = _sweep(rows[u][s], rows[c][s], rows[d][s], rows[d][s + 1], rest)
        summed = norms == "all" or (norms == "last" and s == sweeps - 1)
        return lines + (_squares(s, rows[d][s + 1], rows[c][s]) if summed else [])

    # The first rows: a level is needed from the row on at which the level above it begins.
    lines += load("u") + load("c")
    first = load("d")
    for s in range(sweeps - 1):
        first += _indented(advance(s, "u", "c", "d"), s)
        first += _indented([f"if j >= {2 * (s + 2)}:"], s) if s < sweeps - 2 else []
    first += _norm(sweeps, norms, f"j - {2 * sweeps}") if norms == "all" else []
    for s in range(sweeps):
        first += [f"{u} = {c}" for u, c in zip(rows["u"][s], rows["c"][s], strict=True)]
        first += [f"{c} = {d}" for c, d in zip(rows["c"][s], rows["d"][s], strict=True)]
    lines += [f"for j in range(2, {2 * sweeps}):", *_indented(first)] if sweeps > 1 else []

    lines += [*load("d"), "for i in range(0, rows, 3):"]
    for turn, (u, c, d) in enumerate((("u", "c", "d"), ("c", "d", "u"), ("d", "u", "c"))):
        three = advance(0, u, c, d) + load(u)  # the next row overwrites the one that nobody needs any more
        for s in range(1, sweeps):
            three += advance(s, u, c, d)
        three += _store(rows[d][sweeps], f"i + {turn} < rows") + _norm(sweeps, norms, f"i + {turn}")
        lines += _indented(three)
    if norms != "none":
        lines.append(f"deposit_lane(words, warp, lane, {_share(sweeps, norms)}, level, {sweeps}, limb, bad)")
    return "\n".join([f"def {name}{SIGNATURE}:", *_indented(lines)]) + "\n"


def _row(s: int, letter: str, width: int) -> list[str]:
    return [f"{letter}{s}_{k}" for k in range(width)]


def _indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def _start(sweeps: int, norms: str, dtype: str) -> list[str]:
    """Where this warp is: its rows and columns, what it keeps, and where it reads and writes."""
    width, item_bytes = WIDTH[dtype], LANE_BYTES // WIDTH[dtype]
    first_lane, kept = EDGE // width, segment(dtype)

    def keeps(lane: str) -> str:
        return f"({lane} >= {first_lane}) & ({lane} < {LANES - first_lane}) & (base + {lane} * {width} < nx)"

    lines = [
        "lane = cuda.laneid",
        "warp = b * (cuda.blockDim.x >> 5) + (cuda.threadIdx.x >> 5)",
        f"strips = (nx + {kept - 1}) // {kept}",
        "row = first_row + warp // strips * stride_rows",
        "rows = min(chunk_rows, stop_row - row)",
        "if rows <= 0:",
        "    return",
        f"base = warp % strips * {kept} - {EDGE}",
        f"column = base + lane * {width}",
        "first = column == 0",
        f"last = (column < nx) & (column + {width} >= nx)",
        f"inside = between(column, 0, pitch_bytes // {item_bytes} - {width})",
        f"old = old + (row - {sweeps}) * pitch_bytes + inside * {item_bytes}",
        f"final = old + (rows + {2 * sweeps - 1}) * pitch_bytes",
        # Two lanes store together, so that whole sectors go to memory: first the even lane's columns, then the odd one's.
        "odd = (lane & 1) != 0",
        "even_lane = lane & 30",
        "odd_lane = lane | 1",
        f"keep_even = {keeps('even_lane')}",
        f"keep_odd = {keeps('odd_lane')}",
        f"new = new + row * pitch_bytes + (base + even_lane * {width}) * {item_bytes} + pick(odd, {LANE_BYTES // 2}, 0)",
        "zero = real(0.0)",
    ]
    if norms == "none":
        return lines
    share = _share(sweeps, norms)
    return lines + [
        f"keep = {keeps('lane')}",
        f"level = lane // {share}" if norms == "all" else f"level = {sweeps - 1} + 0 * lane",
        f"scale = limb_scale(lane % {share} % 4)",
        "limb = 0 * lane",
        "bad = lane < 0",
        *(f"high{far} = (lane & {far}) != 0" for far in (16, 8, 4)),
        *(f"q{s} = zero" for s in range(sweeps)),
    ]


def _share(sweeps: int, norms: str) -> int:
    """Lanes that hold the sum of the same level in the end."""
    return LANES >> (sweeps - 1).bit_length() if norms == "all" else LANES


def _sweep(u: list[str], c: list[str], d: list[str], out: list[str], rest: int) -> list[str]:
    """out = row c one level on.  The order of the additions is the sample's."""
    wests, easts = ["west", *c[:-1]], [*c[1:], "east"]
    lines = [f"east = shift_down({c[0]})", f"west = shift_up({c[-1]})"]
    for k, names in enumerate(zip(out, easts, wests, d, u, strict=True)):
        lines.append("{} = quarter((({} + {}) + {}) + {})".format(*names))
        lines += [f"{out[k]} = pick(first, {c[k]}, {out[k]})"] if k == 0 else []
        lines += [f"{out[k]} = pick(last, {c[k]}, {out[k]})"] if k >= rest else []
    return lines


def _squares(s: int, new: list[str], old: list[str]) -> list[str]:
    """q{s} = the lane's sum, as ``limbs.py`` defines it."""
    lines, half = [], len(new) // 2
    for k in _pairs_first(half):
        lines += [f"low = {new[k]} - {old[k]}", f"high = {new[k + half]} - {old[k + half]}"]
        lines.append(f"p{k} = fused(high, high, low * low)")
        lines += [f"p{k - half // 2} = p{k - half // 2} + p{k}"] if k >= half // 2 else []
    lines += ["p0 = p0 + p1"] if half == 4 else []
    return [*lines, f"q{s} = pick(keep, p0, zero)"]


def _pairs_first(half: int) -> list[int]:
    """0, half / 2, 1, half / 2 + 1, ...: what is added is made one after the other."""
    return [k + far for k in range(half // 2) for far in (0, half // 2)]


def _norm(sweeps: int, norms: str, at: str) -> list[str]:
    """Add up a step's lanes, and their sum to the limbs, if the level is at a row of this warp's own.

    While there are two levels or more, a lane passes one half of them on and keeps the other: the same pairs as one
    level after the other, for a fraction of the shuffles.
    """
    if norms == "none":
        return []
    levels = 1 << (sweeps - 1).bit_length()
    sums = [f"q{s}" if s < sweeps else "zero" for s in range(levels)] if norms == "all" else [f"q{sweeps - 1}"]
    lines = [f"z{k} = {one}" for k, one in enumerate(sums)]
    values, far = [f"z{k}" for k in range(len(sums))], 16
    while far:
        if len(values) == 1:
            lines.append(f"z0 = z0 + swap(z0, {far})")
        else:
            half = len(values) // 2
            for a, b in zip(values[:half], values[half:], strict=True):
                lines += [f"t = pick(high{far}, {a}, {b})", f"{a} = pick(high{far}, {b}, {a}) + swap(t, {far})"]
            values = values[:half]
        far //= 2
    return [
        *lines,
        f"mine = within({at} + {sweeps - 1} - level, rows)",
        "limb = limb + pick(mine, limb_of(z0, scale), 0)",
        "bad = bad | (mine & too_large(z0))",
    ]


def _store(x: list[str], when: str) -> list[str]:
    """Store a row of the lane pair, half by half."""
    half = len(x) // 2
    lines = [f"t{k} = swap(pick(odd, {x[k]}, {x[k + half]}), 1)" for k in range(half)]
    even = ", ".join(f"pick(odd, t{k}, {x[k]})" for k in range(half))
    odd = ", ".join(f"pick(odd, {x[k + half]}, t{k})" for k in range(half))
    lines.append(f"store_half(keep_even & ({when}), new, ({even}))")
    lines.append(f"store_half(keep_odd & ({when}), new + {LANE_BYTES}, ({odd}))")
    return [*lines, "new += pitch_bytes"]
