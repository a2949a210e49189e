"""AllReduce of this library beside NCCL's, in one run: time in a CUDA graph, and host time of a call.

    mpirun -np 2 python3 benchmarks/allreduce.py --output benchmarks/results/allreduce-2xH200.json

Both sides are warmed up, on the same buffers and stream; the time is the slowest
PE's median of repeats, and each result is checked against an exact reference
made from fresh random data.  NCCL is called directly (nccl4py), with plain
buffers and with symmetric windows; it is left out where nccl4py is missing.
"""

import argparse
import json
import platform
import time

import cupy as cp
import numpy as np
from mpi4py import MPI

import pennympi

REPEATS = 9


def in_graph(team, stream, call, calls):
    """Microseconds of one call: slowest PE, median of repeats of a graph of ``calls`` calls."""
    for _ in range(3):
        call()
    stream.synchronize()
    team.comm.Barrier()
    with stream:
        stream.begin_capture()
        for _ in range(calls):
            call()
        graph = stream.end_capture()
    begin, end, times_us = cp.cuda.Event(), cp.cuda.Event(), []
    for repeat in range(REPEATS + 2):
        begin.record(stream)
        graph.launch(stream)
        end.record(stream)
        end.synchronize()
        if repeat >= 2:
            times_us.append(cp.cuda.get_elapsed_time(begin, end) / calls * 1e3)
        team.comm.Barrier()
    return team.comm.allreduce(float(np.median(times_us)), MPI.MAX)


def host_us(team, stream, call):
    """Microseconds of host time of one call: slowest PE, median."""
    times_us = []
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(20):
            call()
        times_us.append((time.perf_counter() - begin) / 20 * 1e6)
        stream.synchronize()
    return team.comm.allreduce(float(np.median(times_us[10:])), MPI.MAX)


def nccl_rivals(team, x, y, nbytes):
    """{name: call(count, stream)} of NCCL, plain and with symmetric windows, and its version."""
    try:
        import nccl.core as nccl
    except ImportError:
        return {}, "not installed"
    uid = team.comm.bcast(nccl.get_unique_id() if team.me == 0 else None)
    comm = nccl.Communicator.init(team.n_pes, team.me, uid)
    windows = [cp.from_dlpack(nccl.mem_alloc(nbytes)).view(x.dtype) for _ in range(2)]
    for window in windows:
        comm.register_window(window, nccl.WindowFlag.COLL_SYMMETRIC)
    windows[0][:] = x
    rivals = {
        "nccl": lambda n, stream: comm.allreduce(x[:n], y[:n], nccl.SUM, stream=stream),
        "nccl-symmetric": lambda n, stream: comm.allreduce(windows[0][:n], windows[1][:n], nccl.SUM, stream=stream),
    }
    return rivals, str(nccl.get_version().libnccl.version)


def check(team, x, y, n):
    """Count wrong elements of y (n,) = sum over PEs of x (n,), by a sum that is exact in float64."""
    head = min(n, 1 << 16)
    reference = sum(team.comm.allgather(x[:head].get().astype(np.float64)))
    wrong = int((y[:head].get().astype(np.float64) != reference).sum())
    whole = float(y[:n].sum(dtype=cp.float64)) != sum(team.comm.allgather(float(x[:n].sum(dtype=cp.float64))))
    return team.comm.allreduce(wrong + whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--begin", type=int, default=1 << 10, help="smallest size in bytes (%(default)d)")
    parser.add_argument("--end", type=int, default=1 << 30, help="largest size in bytes (%(default)d)")
    parser.add_argument("--factor", type=int, default=4, help="from one size to the next (%(default)d)")
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--output", help="JSON file")
    args = parser.parse_args()
    team = pennympi.init(backend="cuda")
    stream, n_max = team.stream(), args.end // 4
    x = cp.asarray(np.random.default_rng().integers(0, 100, n_max).astype(np.float32))
    y = cp.empty_like(x)
    rivals, nccl_version = nccl_rivals(team, x, y, args.end)
    rows, nbytes = [], args.begin
    while nbytes <= args.end:
        n, calls = nbytes // 4, 20 if nbytes <= 1 << 24 else 4
        y[:n] = -1
        team.synchronize()
        plan = team.plan_allreduce(x[:n], y[:n], algorithm=args.algorithm)
        plan(stream)
        team.synchronize(stream)
        row = {"bytes": nbytes, "wrong": check(team, x, y, n)}
        row["pennympi"] = in_graph(team, stream, lambda plan=plan: plan(stream), calls)
        for name, call in rivals.items():
            row[name] = in_graph(team, stream, lambda call=call, n=n: call(n, stream), calls)
        rows.append(row)
        if team.me == 0:
            print(
                "  ".join(
                    f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                ),
                flush=True,
            )
        nbytes *= args.factor
    small, small_out = x[:256], y[:256]
    plan = team.plan_allreduce(small, small_out)
    cost = {
        "allreduce": host_us(team, stream, lambda: team.allreduce(small, small_out, stream=stream)),
        "plan": host_us(team, stream, lambda: plan(stream)),
    }
    if "nccl" in rivals:
        cost["nccl"] = host_us(team, stream, lambda: rivals["nccl"](256, stream))
    facts = dict(team.describe()) | {"NCCL": nccl_version, "PEs": team.n_pes, "Python": platform.python_version()}
    if team.me == 0:
        print("host us a call, 1 KiB:", {key: round(value, 2) for key, value in cost.items()})
        if args.output:
            with open(args.output, "w") as file:
                json.dump({"facts": facts, "algorithm": args.algorithm, "us": rows, "host_us": cost}, file, indent=1)
    team.comm.Barrier()
    team.finalize()


if __name__ == "__main__":
    main()
