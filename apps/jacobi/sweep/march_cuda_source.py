"""T sweeps in one pass over memory: the generated source of ``march`` for a warp of a GPU, which goes down the rows.

A warp holds, in registers, 32 lanes x LANE_COLUMNS columns of three rows of each of T time levels.  A row of the field is
loaded as level 0.  Level s+1 of the row above it can then be computed, level s+2 of the row above that one, and so on;
level T is stored.  The neighbours of a column to the east and west are in registers of this lane, or of the next lane
(one shuffle).  Each sweep spoils one more column at either edge of the warp, so two warps compute the outermost
EDGE_COLUMNS columns: that takes no shared memory and no barrier.  The loop does three rows an iteration, in which the
three rows of a level exchange their roles (u above, c itself, d below), so that no register is copied.

Loops over levels and columns must be unrolled into registers, so ``source`` generates the function for one T.  The
functions that it calls are those of ``march_cuda.py``; a test executes it with others, on NumPy arrays of 32 lanes.

References: Micikevicius streams along one axis with the planes in registers (3D finite difference computation on GPUs,
GPGPU-2, 2009); AN5D does many time levels a pass through shared memory (Matsumura and others, CGO 2020).
"""

from ..norm.exact_sum import EDGE_COLUMNS, LANE_BYTES, LANE_COLUMNS, LANES, segment_columns

# How many rows ahead of its loads a warp prefetches into the L2 cache, by the number of sweeps of a pass, as measured on
# an H200.  The warps of a long pass are too few for their loads to hide the latency of memory; those of a short one are
# many, and lines that they prefetch early are evicted before they are loaded.
PREFETCH_ROWS = {1: 0, 2: 2, 4: 2}
MAX_PREFETCH_ROWS = 3  # for all other numbers of sweeps
SIGNATURE = "(b, fields, band, work)"


def prefetch_rows(sweeps: int) -> int:
    """How many rows ahead a pass of ``sweeps`` sweeps prefetches (0: none)."""
    return PREFETCH_ROWS.get(sweeps, MAX_PREFETCH_ROWS)


def source(sweeps: int, norms: str, dtype: str, last_column: int, name: str) -> str:
    """Source of ``march`` (see ``kernels.py``) as a function ``name``, for passes of ``sweeps`` sweeps.

    norms: "none", "last" (of the last sweep) or "all";  last_column: place of column nx-1 among its lane's columns
    """
    lines = _start(sweeps, norms, dtype)
    rows = {letter: [_row(s, letter, LANE_COLUMNS[dtype]) for s in range(sweeps + 1)] for letter in ("u", "c", "d")}
    lines += [f"{one} = zero" for levels in rows.values() for row in levels[:sweeps] for one in row]

    def load(into: str) -> list[str]:
        ahead = prefetch_rows(sweeps)
        prefetch = [f"prefetch(least(old + {ahead} * pitch_bytes, final))"] if ahead else []
        return [f"{', '.join(rows[into][0])} = load_row(old)", *prefetch, "old += pitch_bytes"]

    def advance(s: int, u: str, c: str, d: str) -> list[str]:
        """Row c at level s+1, from the rows u, c and d at level s."""
        lines = _sweep(rows[u][s], rows[c][s], rows[d][s], rows[d][s + 1], last_column)
        summed = norms == "all" or (norms == "last" and s == sweeps - 1)
        return lines + (_squares(s, rows[d][s + 1], rows[c][s]) if summed else [])

    # The first rows fill the levels: level s+1 begins with row 2 (s + 1), when three rows of level s are there.
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
    for k, (u, c, d) in enumerate((("u", "c", "d"), ("c", "d", "u"), ("d", "u", "c"))):
        three = advance(0, u, c, d) + load(u)  # the next row overwrites the one that is no longer needed
        for s in range(1, sweeps):
            three += advance(s, u, c, d)
        three += _store(rows[d][sweeps], f"i + {k} < rows") + _norm(sweeps, norms, f"i + {k}")
        lines += _indented(three)
    if norms != "none":
        place = f"LaneSum(lane, {_share(sweeps, norms)}, level, {sweeps})"
        lines.append(f"add_exact_lane(work.words, warp, {place}, limb, bad)")
    return "\n".join([f"def {name}{SIGNATURE}:", *_indented(lines)]) + "\n"


def _row(s: int, letter: str, width: int) -> list[str]:
    return [f"{letter}{s}_{k}" for k in range(width)]


def _indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def _start(sweeps: int, norms: str, dtype: str) -> list[str]:
    """Lines that set the warp's rows and columns, its addresses, and the conditions under which its lanes store."""
    width, item_bytes = LANE_COLUMNS[dtype], LANE_BYTES // LANE_COLUMNS[dtype]
    first_lane, kept = EDGE_COLUMNS // width, segment_columns(dtype)

    def keeps(lane: str) -> str:
        return f"({lane} >= {first_lane}) & ({lane} < {LANES - first_lane}) & (base + {lane} * {width} < nx)"

    lines = [
        "new, old, nx, pitch_bytes = fields",
        "lane = cuda.laneid",
        "warp = b * (cuda.blockDim.x >> 5) + (cuda.threadIdx.x >> 5)",
        f"strips = (nx + {kept - 1}) // {kept}",
        "row = band.first_row + warp // strips * band.stride_rows",
        "rows = min(band.chunk_rows, band.stop_row - row)",
        "if rows <= 0:",
        "    return",
        f"base = warp % strips * {kept} - {EDGE_COLUMNS}",
        f"column = base + lane * {width}",
        "first = column == 0",
        f"last = (column < nx) & (column + {width} >= nx)",
        f"inside = between(column, 0, pitch_bytes // {item_bytes} - {width})",
        f"old = old + (row - {sweeps}) * pitch_bytes + inside * {item_bytes}",
        f"final = old + (rows + {2 * sweeps - 1}) * pitch_bytes",
        # Two lanes store together, so that they write whole sectors: the even lane's columns, then the odd lane's.
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
    """How many lanes hold the sum of the same level after ``_norm``."""
    return LANES >> (sweeps - 1).bit_length() if norms == "all" else LANES


def _sweep(u: list[str], c: list[str], d: list[str], out: list[str], last_column: int) -> list[str]:
    """out = row c at the next level.  The order of the additions is that of NVIDIA's sample."""
    wests, easts = ["west", *c[:-1]], [*c[1:], "east"]
    lines = [f"east = shift_down({c[0]})", f"west = shift_up({c[-1]})"]
    for k, names in enumerate(zip(out, easts, wests, d, u, strict=True)):
        lines.append("{} = quarter((({} + {}) + {}) + {})".format(*names))
        lines += [f"{out[k]} = pick(first, {c[k]}, {out[k]})"] if k == 0 else []
        lines += [f"{out[k]} = pick(last, {c[k]}, {out[k]})"] if k >= last_column else []
    return lines


def _squares(s: int, new: list[str], old: list[str]) -> list[str]:
    """q{s} = the sum of the squares of the lane's changes, in the order of ``exact_sum.py``."""
    lines, half = [], len(new) // 2
    for k in _pairs_first(half):
        lines += [f"low = {new[k]} - {old[k]}", f"high = {new[k + half]} - {old[k + half]}"]
        lines.append(f"p{k} = fused(high, high, low * low)")
        lines += [f"p{k - half // 2} = p{k - half // 2} + p{k}"] if k >= half // 2 else []
    lines += ["p0 = p0 + p1"] if half == 4 else []
    return [*lines, f"q{s} = pick(keep, p0, zero)"]


def _pairs_first(half: int) -> list[int]:
    """0, half / 2, 1, half / 2 + 1, ...: two values that are added are computed one after the other."""
    return [k + far for k in range(half // 2) for far in (0, half // 2)]


def _norm(sweeps: int, norms: str, at: str) -> list[str]:
    """Add the sums of all lanes, and the totals to the limbs of each level whose row ``at`` belongs to this warp.

    As long as two levels or more are left, a lane passes the values of one half of them on and keeps the other half.
    That adds the same pairs as one level after the other would, with fewer shuffles.
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
    """Store the row of two lanes together: half a lane's columns in each instruction."""
    half = len(x) // 2
    lines = [f"t{k} = swap(pick(odd, {x[k]}, {x[k + half]}), 1)" for k in range(half)]
    even = ", ".join(f"pick(odd, t{k}, {x[k]})" for k in range(half))
    odd = ", ".join(f"pick(odd, {x[k + half]}, t{k})" for k in range(half))
    lines.append(f"store_half(keep_even & ({when}), new, ({even}))")
    lines.append(f"store_half(keep_odd & ({when}), new + {LANE_BYTES}, ({odd}))")
    return [*lines, "new += pitch_bytes"]
