"""The cost of the order of calls for an AllReduce: host and device time on one stream, on two streams, with graphs.

    mpirun -np 2 python3 benchmarks/order_cost.py --output order.json
    mpirun -np 2 python3 benchmarks/order_cost.py --tree OTHER --label before    the same for another checkout

A time is the slowest PE's median of many bursts, in us of a call; every result is checked.  Eager calls are measured
before the graphs, and once more after them, because a capture makes later eager calls slower.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

BURSTS, CALLS = 60, 20


def series(cupy, team, stream, burst, calls):
    """(host_us, device_us) of a call: the slowest PE's medians.  burst: makes ``calls`` calls on ``stream``"""
    host_us, device_us = [], []
    for _ in range(BURSTS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        team.comm.Barrier()
        begin.record(stream)
        started = time.perf_counter()
        burst()
        host_us.append((time.perf_counter() - started) * 1e6 / calls)
        end.record(stream)
        team.synchronize(stream)
        device_us.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / calls)
    return tuple(max(team.gather(statistics.median(times[5:]))) for times in (host_us, device_us))


def rows(pennympi, cupy, team, nbytes):
    """(what, host_us, device_us) for each kind of call, on float32 vectors of ``nbytes`` bytes."""
    n, me = team.n_pes, team.me
    x, out = team.full(nbytes // 4, me + 1, "float32"), team.zeros(nbytes // 4, "float32")
    a, b = team.stream(), team.stream()
    plan = team.plan_allreduce(x, out)
    for call in (lambda s: team.allreduce(x, out, stream=s), plan):
        for stream in (a, a, a):
            call(stream)
    team.synchronize()

    def times(call, streams):
        def burst():
            for k in range(CALLS):
                call(streams[k % len(streams)])
            if len(streams) > 1:  # the measured stream waits for the other one
                streams[0].wait_event(streams[1].record())

        return series(cupy, team, streams[0], burst, CALLS)

    def eager(stream):
        team.allreduce(x, out, stream=stream)

    yield "eager, one stream", *times(eager, (a,))
    yield "plan, one stream", *times(plan, (a,))
    yield "eager, two streams in turn", *times(eager, (a, b))
    for calls in (1, 3, 20):
        with a:
            a.begin_capture()
            for _ in range(calls):
                plan(a)
            graph = a.end_capture()
        yield (
            f"a graph of {calls}",
            *series(cupy, team, a, lambda g=graph: [g.launch(a) for _ in range(CALLS)], CALLS * calls),
        )
    yield "eager, one stream, once there is a graph", *times(eager, (a,))
    yield "plan, one stream, once there is a graph", *times(plan, (a,))
    team.synchronize()
    assert cupy.all(out == n * (n + 1) / 2), "a wrong sum"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1], help="the checkout to measure")
    parser.add_argument("--label", default="this")
    parser.add_argument("--bytes", type=int, nargs="+", default=[1 << 10, 4 << 20])
    parser.add_argument("--output", type=Path, help="a JSON file; rows are added to what is in it")
    args = parser.parse_args()
    sys.path.insert(0, str(args.tree))
    import cupy

    import pennympi

    assert Path(pennympi.__file__).resolve().is_relative_to(args.tree.resolve()), pennympi.__file__
    found = []
    for nbytes in args.bytes:
        with pennympi.init() as team:
            facts = dict(team.describe()) | {"n_pes": str(team.n_pes)}
            for what, host_us, device_us in rows(pennympi, cupy, team, nbytes):
                found.append([args.label, nbytes, what, round(host_us, 3), round(device_us, 3)])
                if team.me == 0:
                    print(
                        f"{args.label:8s} {nbytes:9d} {what:42s} host {host_us:7.2f} us  device {device_us:7.2f} us",
                        flush=True,
                    )
            me = team.me
    if args.output and me == 0:
        data = json.loads(args.output.read_text()) if args.output.exists() else {"rows": []}
        data[f"facts of {args.label}"] = facts
        data["columns"] = ["tree", "bytes", "what", "host_us", "device_us"]
        data["rows"] += found
        args.output.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
