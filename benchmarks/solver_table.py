"""The table of docs/measurements.md of the results of benchmarks/jacobi.py."""

from jacobi_results import best, case_of, select


def cases(results):
    """The (n, nccheck, PEs) that were timed, largest grid first, without the runs that show what norms cost."""
    found = {(*case_of(row), row["pes"]) for row in results["rows"] if row["nccheck"] < results["iterations"]}
    return sorted(found, key=lambda case: (-case[0], case[1], case[2]))


def every(nccheck):
    """nccheck in words."""
    return "every sweep" if nccheck == 1 else f"every {nccheck}"


def device(results):
    """The name of the device."""
    jobs = list(results["jobs"].values())
    return next((job["device"] for job in jobs if job), "")


def markdown(results, name):
    """A caption, the table, and sentences on efficiency, norms and the restart.  name: of the file of results"""
    job = max(results["jobs"].values(), key=lambda job: job.get("n_pes", 0))
    keys = ("NVSHMEM", "CUDA driver")
    packages = [f"{key} {job['packages'][key]}" for key in ("numba", "numba-cuda") if key in job.get("packages", {})]
    on = ", ".join([*(f"{key} {job[key]}" for key in keys if key in job), *packages])
    machine = f"{job.get('n_pes', 0)} x {device(results)}" if job.get("backend") == "cuda" else device(results)
    parts = [
        f"{machine}, float32, {results['iterations']} sweeps, seconds of the slowest PE ({on}; "
        f"{results['facts'].get('date', '')}; [raw](../benchmarks/results/{name})):"
    ]
    head = ["grid", "PEs", "norm", "one sweep a pass", "`blocked`", "NVIDIA's best sample", "times faster, of the two"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for n, nccheck, pes in cases(results):
        case = {"n": n, "nccheck": nccheck, "pes": pes}
        plain, blocked = (best(select(results["rows"], blocked=kind, **case)) for kind in (False, True))
        theirs = best(select(results["nvidia"], **case))
        cells = [f"{n} x {n}", pes, every(nccheck)]
        cells.append(f"{plain['seconds']:.4f} ({plain['variant']})" if plain else "")
        cells.append(f"{blocked['seconds']:.4f}" if blocked else "")
        cells.append(f"{theirs['seconds']:.4f} ({short(theirs['variant']).removeprefix('NVIDIA ')})" if theirs else "")
        ratios = [f"{theirs['seconds'] / one['seconds']:.1f}" for one in (plain, blocked) if theirs and one]
        cells.append(", ".join(ratios))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    parts.append("\n".join(lines))
    parts.append(" ".join(sentences(results)))
    return "\n\n".join(filter(None, parts))


def sentences(results):
    """Sentences on efficiency, the cost of norms, and the restart."""
    if not results["rows"]:
        return []
    most, n = max(row["pes"] for row in results["rows"]), max(row["n"] for row in results["rows"])
    found = []
    shares = []
    for kind, word in ((False, "one sweep a pass"), (True, "`blocked`")):
        rows = select(results["rows"], pes=most, n=n, blocked=kind)
        alike = [
            f"{row['efficiency_alike']:.0f} % (norm {every(nccheck)})"
            for nccheck in sorted({row["nccheck"] for row in rows if row["nccheck"] < results["iterations"]})
            if (row := best(select(rows, nccheck=nccheck))) and row["efficiency_alike"]
        ]
        shares += [f"{word} {', '.join(alike)}"] if alike else []
    if shares and most > 1:
        against = "our fastest run of the kind on one"
        found.append(f"Efficiency of {most} PEs at {n} x {n}, against {against}: {'; '.join(shares)}.")
    costs = [
        f"{one['variant']} {one['percent']:.1f} % of the run"
        + ("" if one["allreduce_percent"] is None else f" ({one['allreduce_percent']:.1f} % beyond what it costs on one)")
        for one in select(results["norm_cost"], pes=most, n=n)
        if one["variant"] in fastest_of_their_kind(results, most, n)
    ]
    if costs:
        found.append(f"A norm every sweep, against one in the whole run, on {most} PEs: {', '.join(costs)}.")
    restart = results["restart"]
    if restart and restart["same"]:
        killed = " and ".join(f"{pes} after {at}" for pes, at in zip(restart["pes"], restart["killed_at"], strict=False))
        found.append(
            f"A checkpointed run (`{restart['variant']}`, {restart['n']} columns) that was killed on {killed} sweeps, "
            f"and ended on {restart['pes'][-1]} after {restart['iterations']}, has the bits of one that was not."
        )
    return found


def fastest_of_their_kind(results, pes, n):
    """The fastest plain and the fastest blocked variant with a norm every sweep."""
    rows = select(results["rows"], pes=pes, n=n, nccheck=1)
    winners = [best([row for row in rows if (row["variant"] == "blocked") == kind]) for kind in (False, True)]
    return {row["variant"] for row in winners if row}


def short(variant):
    """The name of a variant with its options abbreviated."""
    return (
        variant.replace(" -norm_overlap -neighborhood_sync", ", its options")
        .replace(" -use_hp_streams", "")
        .replace(" -user_buffer_reg", ", registered")
    )
