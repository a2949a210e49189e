"""What a change costs: two checkouts by turns, in alternating jobs: host time of a call, and AllReduce from 8 B to 1 MiB.

    python benchmarks/before_after.py OLD_CHECKOUT --pes 1,2 --output cost.json                       on CPUs
    python3 benchmarks/before_after.py OLD_CHECKOUT --pes 2 --backend cuda --launcher "mpirun -np {n}" --output cost.json

A job measures one checkout on one number of PEs; the checkouts take turns, --turns times each, and the one that begins
changes from turn to turn.  A time is the slowest PE's median of many bursts; of the jobs of a checkout the median counts,
and the ratio is after / before.  On GPUs "host" is the time until a call returns, and AllReduce is measured in a CUDA
graph, eager and planned.  Every result is checked.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import launching

SIZES = [8 << (2 * k) for k in range(9)] + [1 << 20]  # bytes: 8 B to 512 KiB by fours, and 1 MiB
CALLS, BURSTS = 20, 60
MARK = "MEASURED "


def slowest(team, us):
    """The slowest PE's median.  Collective."""
    return round(max(team.comm.allgather(statistics.median(us[len(us) // 6 :]))), 4)


def host_us(team, call, calls=CALLS, bursts=BURSTS):
    """Time until a call returns, in bursts with a synchronization after each."""
    us = []
    for _ in range(bursts):
        team.comm.Barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        us.append((time.perf_counter() - begin) / calls * 1e6)
        team.synchronize()
    return slowest(team, us)


def device_us(team, call, stream, calls, graph):
    """Time of a call on the device: bursts between events, in a CUDA graph or launched one by one."""
    import cupy

    def burst():
        for _ in range(calls):
            call(stream)

    burst()
    team.synchronize(stream)
    if graph:
        with stream:
            stream.begin_capture()
            burst()
            captured = stream.end_capture()
        burst = lambda: captured.launch(stream)  # noqa: E731
    us = []
    for _ in range(BURSTS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        team.comm.Barrier()
        begin.record(stream)
        burst()
        end.record(stream)
        team.synchronize(stream)
        us.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / calls)
    return slowest(team, us)


def measured(pennympi, backend):
    """{what: us} of this checkout, on this job's PEs."""
    found = {}
    with pennympi.init(backend=backend, heap_bytes=64 << 20) as team:
        n, me = team.n_pes, team.me
        after, partner = (me + 1) % n, me ^ 1 if me ^ 1 < n else me
        x, out, inbox = team.full(2, me + 1, "float32"), team.zeros(2, "float32"), team.zeros(2, "float32")
        plan, stream = team.plan_allreduce(x, out), team.stream()
        calls = {
            "eager": lambda: team.allreduce(x, out, stream=stream),
            "plan": lambda: plan(stream),
            "put": lambda: team.put(inbox, x, after, stream=stream),
            "exchange": lambda: team.exchange(inbox, x, partner, stream=stream),
        }
        for call in calls.values():
            call()
        team.synchronize()
        more = {} if backend == "cuda" else {"calls": 200, "bursts": 40}
        for name, call in calls.items():
            found[f"host, {name}"] = host_us(team, call, **more)
        for size in SIZES:
            x, out = team.full(size // 4, me + 1, "float32"), team.zeros(size // 4, "float32")
            plan = team.plan_allreduce(x, out)

            def eager(stream=None, x=x, out=out):
                team.allreduce(x, out, stream=stream)

            calls = CALLS if size < 1 << 18 else 5
            for name, call in {"eager": eager, "plan": plan}.items():
                call(None)
                if backend == "cuda":
                    found[f"{name}, {size}"] = device_us(team, call, stream, calls, False)
                else:
                    found[f"{name}, {size}"] = host_us(team, lambda call=call: call(None), calls)
            if backend == "cuda":
                found[f"graph, {size}"] = device_us(team, plan, stream, calls, True)
            team.synchronize()
            assert (out == n * (n + 1) / 2).all(), f"a wrong sum of {size} bytes"
            team.comm.Barrier()
            for one in (out, x):
                team.free(one)
        facts = dict(team.describe()) | {"PEs": n}
        speaks = me == 0
    if speaks:
        print(MARK + json.dumps({"us": found, "facts": facts}), flush=True)


def job(tree, backend):
    """What runs under the launcher."""
    sys.path.insert(0, str(tree))
    import pennympi

    assert Path(pennympi.__file__).resolve().is_relative_to(tree.resolve()), pennympi.__file__
    measured(pennympi, backend)


def one_turn(args, tree, n_pes, limit_s=150):
    """The answer of one job.  Raises RuntimeError with what it printed."""
    line = launching.python(args.launcher, n_pes, __file__, tree, "--job", "--backend", args.backend)
    status, text = launching.run(line, limit_s, capture=True)
    answers = [one for one in text.splitlines() if one.startswith(MARK)]
    if status != 0 or not answers:
        raise RuntimeError(f"{tree} on {n_pes} PEs, status {status}: {text.strip()[-1500:]}")
    return json.loads(answers[0].removeprefix(MARK))


def commit_of(tree):
    """The commit of a checkout, in short."""
    said = subprocess.run(["git", "-C", tree, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return said.stdout.strip() or "unknown"


def compare(args):
    """All turns.  Returns the result; writes it after each turn, so that a run may be cut short."""
    trees = {"before": args.tree.resolve(), "after": Path(__file__).resolve().parents[1]}
    result = {
        "what": "Two checkouts by turns in alternating jobs",
        "commits": {label: commit_of(tree) for label, tree in trees.items()},
        "facts": {},
        "pes": {},
    }
    for turn in range(args.turns):
        for n_pes in args.pes:
            for label in sorted(trees, reverse=turn % 2 == 0):
                answer = one_turn(args, trees[label], n_pes)
                result["facts"] = answer["facts"] | {"date": time.strftime("%Y-%m-%d"), "turns": turn + 1}
                for what, us in answer["us"].items():
                    row = result["pes"].setdefault(str(n_pes), {}).setdefault(what, {"before_us": [], "after_us": []})
                    row[f"{label}_us"].append(us)
        for row in (row for rows in result["pes"].values() for row in rows.values()):
            row["ratio"] = round(statistics.median(row["after_us"]) / statistics.median(row["before_us"]), 4)
        if args.output:
            args.output.write_text(json.dumps(result, indent=1) + "\n")
        print(f"turn {turn + 1} of {args.turns}", flush=True)
    return result


def show(result):
    """The table, for a terminal."""
    for n_pes, rows in result["pes"].items():
        for what, row in rows.items():
            before, after = statistics.median(row["before_us"]), statistics.median(row["after_us"])
            print(f"{n_pes} PEs  {what:16s} {before:10.2f} us  {after:10.2f} us  {row['ratio']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="the checkout before the change; after it is the one of this file")
    parser.add_argument("--pes", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--turns", type=int, default=6, help="jobs of each checkout on each number of PEs (%(default)d)")
    parser.add_argument("--launcher", default="mpirun -np {n}", help="with {n} for the number of PEs (%(default)s)")
    parser.add_argument("--output", type=Path, metavar="JSON")
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        job(args.tree, args.backend)
    else:
        show(compare(args))


if __name__ == "__main__":
    main()
