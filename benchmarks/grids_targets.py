"""What exchanges and solvers were meant to reach, beside what nothing can be faster than, and what was measured.

The floor of an exchange is an AllReduce of one number in a CUDA graph, which is a launch and a message each way at once,
and the bytes of the faces that travel over what a copy to the other GPU reaches.  That of an iteration is its bytes,
those of four copies of a field in a CUDA graph, without their launches, and on two PEs two such AllReduces.
"""

from grids_results import MODES, floor_us, rows, short

LAUNCH, ALLREDUCE, COPY = "a kernel that does nothing", "AllReduce of one float64", "copy to the next PE"
COPIES = 4  # of a field, whose bytes are those of an iteration: eight values are read or written for each point
HEAD = ["case", "target", "floor", "measured", "reached"]
TITLES = {"cupyx.scipy.sparse.linalg.cg": "CuPy's `cg`, one GPU"}
PUBLIC = "public solver"
KINDS = {"ours": ("persistent", "graph", "stream"), "over NCCL": ("nccl", "nccl-graph"), "over MPI": ("mpi",)}
CG_TARGETS_US = {64: 12.0, 128: 28.0, 256: 190.0}
TWICE_UP_TO = 128  # points of a side, where an iteration was to be twice as fast as others'


def kind(variant):
    """Whose conjugate gradients a variant is: a key of KINDS, PUBLIC, or "" of others than float64."""
    return next((name for name, variants in KINDS.items() if variant in variants), "" if "float" in variant else PUBLIC)


def exchange_floor(data, points, periodic):
    """us of an exchange of float64 faces of two PEs; None where the floors were not measured."""
    if not any(row["what"] == ALLREDUCE for row in rows(data, 2, "floor")):
        return None
    faces = 2 if periodic else 1  # that a PE sends to the other
    rate = copy_rate(data)
    return floor_us(data, ALLREDUCE, 2) + (faces * points**2 * 8 / rate / 1e3 if rate else 0.0)


def copy_rate(data):
    """GB/s of a copy to the other GPU; None where it was not measured: floors are without the bytes then."""
    return next((row["GB_per_s"] for row in rows(data, 2, "floor") if row["what"] == COPY), None)


def iteration_floor(data, n, pes):
    """us of an iteration of CG; None where it was not measured."""
    copies = [row["us"] for row in rows(data, pes, "floor") if (row.get("points"), row["mode"]) == (n, "graph")]
    if not copies:
        return None
    bytes_us = COPIES * max(0.0, copies[0] - floor_us(data, LAUNCH, pes))
    return bytes_us + (2 * floor_us(data, ALLREDUCE, pes) if pes > 1 else 0.0)


def at_most(case, target_us, floor, us):
    """A line of a target in us."""
    reached = "yes" if us <= target_us else "no"
    if floor is not None and floor > target_us:
        reached += ": the target is below the floor"
    return [case, f"{target_us:g} us", f"{short(floor)} us" if floor else "", f"{short(us)} us", reached]


def at_least(case, target, measured, unit, floor=""):
    """A line of a target that is a ratio or a share."""
    return [case, f"{target:g}{unit}", floor, f"{measured:.{1 if '%' in unit else 2}f}{unit}", yes(measured >= target)]


def yes(reached):
    return "yes" if reached else "no"


def of_grids(data):
    """(head, lines) of the targets of exchanges and of heat3d."""
    lines, faces, ways = [], {}, {}
    for row in rows(data, 2, "face"):
        if row["way"] == "pennympi":
            faces[tuple(row["dims"])] = row["us"]
    for mode, how in MODES.items():
        if all(mode in faces.get(dims, {}) for dims in ((2, 1, 1), (1, 1, 2))):
            ratio = faces[1, 1, 2][mode] / faces[2, 1, 1][mode]
            cells = ["1.3 times", "1 time", f"{ratio:.2f} times", yes(ratio <= 1.3)]
            lines.append([f"a face of 256^3 along z against one along x, {how}", *cells])
    for row in rows(data, 2, "halo"):
        if row["points"] == 64:
            ways.setdefault(tuple(row["dims"]), {})[row["way"]] = row["us"]
    for dims, us in ways.items():
        case, ours = f"six faces of 64^3 over {' x '.join(map(str, dims))}", us["pennympi"]
        lines.append(at_most(case, 10.0, exchange_floor(data, 64, True), min(ours.values())))
        for mode, how in MODES.items():
            for way, name in (("nccl", "NCCL"), ("mpi", "mpi4py")):
                theirs = us.get(way, {}).get(mode)
                if theirs and mode in ours:
                    lines.append(at_least(f"the same, {how}, against {name}", 3, theirs / ours[mode], " times faster"))
    return HEAD, lines + of_heat(data)


def of_heat(data):
    """Lines for 512^3 float32: the best form on one PE and on two."""
    best = {}
    for pes in (1, 2):
        found = [row for row in rows(data, pes, "heat") if (row["n"], row["dtype"]) == (512, "float32")]
        best[pes] = max(found, key=lambda row: row["GB_per_s"], default=None)
    lines = []
    if best[1]:
        share = 100 * best[1]["share_of_copy"]
        floor = f"{short(best[1]['us'] * best[1]['share_of_copy'])} us a step"
        lines.append(at_least("heat, 512^3 float32, one PE, of a copy's bandwidth", 90, share, " %", floor))
    if best[1] and best[2]:
        share = 100 * best[2]["GB_per_s"] / best[1]["GB_per_s"] / 2
        lines.append(at_least("heat, 512^3 float32, two PEs, of twice that of one", 97, share, " %"))
    return lines


def of_poisson(data):
    """(head, lines) of the targets of conjugate gradients."""
    lines = []
    for n, target_us in CG_TARGETS_US.items():
        best = {}
        for row in rows(data, 2, "cg") + rows(data, 2, "nvidia_cg"):
            if row["shape"][0] == n and "us" in row:
                best.setdefault(kind(row["variant"]), []).append(row["us"])
        best = {name: min(us) for name, us in best.items()}
        if "ours" not in best:
            continue
        lines.append(at_most(f"{n}^3, two PEs", target_us, iteration_floor(data, n, 2), best["ours"]))
        for name in ("over NCCL", PUBLIC):
            if n <= TWICE_UP_TO and name in best:
                case = f"the same against the best {name}"
                lines.append(at_least(case, 2, best[name] / best["ours"], " times faster"))
    alone = [
        row for row in rows(data, 1, "cg") if row["shape"][0] == 256 and "us" in row and kind(row["variant"]) == "ours"
    ]
    if alone:
        best = min(alone, key=lambda row: row["us"])
        floor = f"{short(iteration_floor(data, 256, 1))} us"
        lines.append(at_least("256^3, one PE, of a copy's bandwidth", 90, 100 * best["share_of_copy"], " %", floor))
    return HEAD, lines
