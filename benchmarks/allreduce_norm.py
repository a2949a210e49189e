"""AllReduce with a residual and an RMSNorm in one kernel, beside an AllReduce with a residual and a kernel for the norm.

    mpirun -np 2 python3 benchmarks/allreduce_norm.py --output norm.json
    mpirun -np 2 python3 benchmarks/allreduce_norm.py --rows 1 6          on CPUs: the same calls, without graphs

bfloat16 [rows, 6144].  On GPUs a time is that of a call in a CUDA graph of CALLS; the norm alone is PyTorch's where it is
installed, and a kernel of 16-byte vectors with a block for each row.  Each way's results are checked against float64
first; then all ways are timed by turns, and the median of the slowest PE's times is printed, in us.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import ml_dtypes
import numpy as np

import pennympi
from pennympi.kernels.allreduce_norm import TABLE

CALLS, ROUNDS, EPS = 20, 15, 1e-6
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NORM = r"""
__device__ float low(unsigned x) { return __uint_as_float(x << 16); }
__device__ float high(unsigned x) { return __uint_as_float(x & 0xffff0000u); }
__device__ unsigned rounded(float x) { unsigned b = __float_as_uint(x); return (b + 0x7fffu + ((b >> 16) & 1)) >> 16; }
__device__ unsigned scaled(unsigned x, unsigned w, float s) {
  return rounded(low(x) * s * low(w)) | rounded(high(x) * s * high(w)) << 16;
}
__device__ float squares(unsigned x) { return low(x) * low(x) + high(x) * high(x); }
extern "C" __global__ void rms_norm(uint4* out, const uint4* x, const uint4* weight, int vectors, float eps) {
  __shared__ float sums[32];
  float sum = 0;
  x += (size_t)blockIdx.x * vectors, out += (size_t)blockIdx.x * vectors;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    uint4 v = x[i];
    sum += squares(v.x) + squares(v.y) + squares(v.z) + squares(v.w);
  }
  for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < blockDim.x / 32; k++) sum += sums[k];
  float s = rsqrtf(sum / (8 * vectors) + eps);
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    uint4 v = x[i], w = weight[i];
    out[i] = make_uint4(scaled(v.x, w.x, s), scaled(v.y, w.y, s), scaled(v.z, w.z, s), scaled(v.w, w.w, s));
  }
}
"""


def norms(team, out, x, weight):
    """{name: norm(stream)}, which writes the RMSNorm of the rows of x to out."""
    row = weight.size
    if team.backend == "host":

        def by_numpy(stream):
            wide = x.astype(np.float32)
            out[...] = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + EPS) * weight.astype(np.float32)

        return {"numpy": by_numpy}
    import cupy

    kernel, args = cupy.RawKernel(NORM, "rms_norm"), (out, x, weight, np.int32(row // 8), np.float32(EPS))
    made = {"kernel": lambda stream: kernel((x.shape[0],), (384,), args, stream=stream)}
    try:
        import torch
    except ImportError:
        return made
    words = [one.view("int16") for one in (out, x, weight)]
    result, source, scale = (torch.as_tensor(one, device="cuda").view(torch.bfloat16) for one in words)

    def by_torch(stream):
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            result.copy_(torch.nn.functional.rms_norm(source, (row,), scale, EPS))

    return made | {"PyTorch, with a copy": by_torch}


def ways(team, x, out, residual, weight):
    """{name: call(stream)} that adds x to residual, and writes the norm to out."""
    norm, place = pennympi.RMSNorm(weight, EPS), team.place
    able = [name for name in TABLE if team.n_pes > 1 and not TABLE[name].refuse(place, "bfloat16", "sum")]
    made = {f"fused, {name}": team.plan_allreduce(x, out, "sum", name, residual, norm=norm) for name in ("auto", *able)}
    total = team.plan_allreduce(x, residual, residual=residual)
    for name, one in norms(team, out, residual, weight).items():
        made[f"allreduce, then {name}"] = lambda stream, one=one: (total(stream), one(stream))
    return made


def to_float64(x):
    return (x if isinstance(x, np.ndarray) else x.view("int16").get().view(BFLOAT16)).astype(np.float64)


def check(team, call, stream, arrays, given):
    """Run once; raise AssertionError where the results are not those of float64, but for roundings."""
    x, out, residual, weight = arrays
    for array, values in zip((x, residual, weight), given, strict=True):
        write(array, values)
    team.synchronize()  # a copy from the host may be under way when CuPy returns, and the stream does not wait for it
    call(stream)
    team.synchronize(stream)
    sums = team.comm.allreduce(given[0].astype(np.float64)) + given[1].astype(np.float64)
    total = to_float64(residual)
    normed = total * given[2].astype(np.float64) / np.sqrt((total * total).mean(-1, keepdims=True) + EPS)
    assert np.allclose(total, sums, 2**-7, 2**-7), "a wrong total"
    assert np.allclose(to_float64(out), normed, 2**-7, 2**-7), "a wrong norm"


def write(x, values):
    if isinstance(x, np.ndarray):
        x[...] = values
    else:
        x.view("int16").set(values.view(np.int16))


def timer(team, call, stream):
    """() -> us of a call, of this PE."""
    if team.backend == "host":

        def on_host():
            started = time.perf_counter()
            for _ in range(CALLS):
                call(stream)
            return (time.perf_counter() - started) * 1e6 / CALLS

        return on_host
    import cupy

    stream.begin_capture()
    for _ in range(CALLS):
        call(stream)
    graph = stream.end_capture()

    def on_device():
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        graph.launch(stream), begin.record(stream), graph.launch(stream), end.record(stream)
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) * 1e3 / CALLS

    return on_device


def times(team, stream, rows, row_elems):
    """{way: us} for rows of one number."""
    dtype, random = BFLOAT16, np.random.default_rng((team.me, rows))
    shape, alike = (rows, row_elems), np.random.default_rng(rows)
    given = [random.standard_normal(shape), alike.standard_normal(shape), alike.standard_normal(row_elems)]
    given = [one.astype(dtype) for one in given]
    arrays = [team.zeros(shape, "bfloat16") for _ in range(3)] + [team.zeros(row_elems, "bfloat16")]
    calls = ways(team, arrays[0], arrays[1], arrays[2], arrays[3])
    for call in calls.values():
        check(team, call, stream, arrays, given)
    write(arrays[0], np.zeros(shape, dtype))  # the residual stays what it is
    team.synchronize()
    timers = {name: timer(team, call, stream) for name, call in calls.items()}
    found = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name, one in timers.items():
            team.comm.Barrier()
            found[name].append(max(team.comm.allgather(one())))
    team.synchronize()
    for array in arrays:
        team.free(array)
    return {name: statistics.median(us) for name, us in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 6, 16, 64, 138, 512])
    parser.add_argument("--row-elems", type=int, default=6144, help="a multiple of 8")
    parser.add_argument("--output", type=Path, help="a JSON file")
    args = parser.parse_args()
    found = []
    with pennympi.init() as team:
        stream, facts = team.stream(), dict(team.describe()) | {"n_pes": str(team.n_pes)}
        for rows in args.rows:
            us = times(team, stream, rows, args.row_elems)
            found += [[rows, args.row_elems, name, round(one, 3)] for name, one in us.items()]
            if team.me == 0:
                print(f"{rows:5d} rows  " + "   ".join(f"{name} {one:.2f} us" for name, one in us.items()), flush=True)
        me = team.me
    if args.output and me == 0:
        columns = ["rows", "row_elems", "what", "us"]
        args.output.write_text(json.dumps({"facts": facts, "columns": columns, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
