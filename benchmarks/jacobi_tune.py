"""Time one pass over 16384 x 16384 points on one GPU, in us a sweep, by the number of waves that its chunks make.

python3 benchmarks/jacobi_tune.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

N = 16384
PASSES = ((1, "none"), (1, "last"), (4, "last"), (8, "none"), (8, "all"))  # (sweeps, norms)
WAVES = (0, 1, 2, 3, 4, 6, 8, 16)  # 0: what the solver chooses


def main():
    import cupy

    import pennympi
    from apps.jacobi.grid.fields import Fields
    from apps.jacobi.grid.problem import Problem
    from apps.jacobi.norm.exact_sum import segment_columns
    from apps.jacobi.norm.norm import words_shape
    from apps.jacobi.sweep import band
    from apps.jacobi.sweep.records import Rows
    from apps.jacobi.sweep.sweeper import Sweeper

    problem = Problem(N, N)
    team = pennympi.init(backend="cuda", heap_bytes=3 << 30)
    fields, stream = Fields(team, problem, 2, 8), team.stream()
    fields.reset()
    words = cupy.zeros(words_shape(team, 8), "int64")
    sweeper = Sweeper(team, problem, 8, fields.pitch_bytes)
    strips = -(-N // segment_columns("float32"))
    for count, norms in PASSES:
        for waves in WAVES:
            warps = band.WARPS_PER_BLOCK * band.capacity(team, count)
            chunk = 3 * -(-N // (3 * max(1, waves * warps // strips))) if waves else 0
            cut = band.inner(team, problem, 8, 8 + N, count)
            if waves:
                blocks = -(-strips * -(-N // chunk) // band.WARPS_PER_BLOCK)
                cut = band.Band(Rows(8, 8 + N, chunk, chunk), blocks)
            begin, end, times = cupy.cuda.Event(), cupy.cuda.Event(), []
            for _ in range(6):
                begin.record(stream)
                sweeper(fields.new, fields.old, cut, stream, words.data.ptr, count, norms)
                end.record(stream)
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / count)
            what = f"{waves} waves" if waves else "as chosen"
            where = f"chunk {cut.rows.chunk_rows:5} rows"
            print(f"T {count} norms {norms:5} {what:10} {where}: {min(times[1:]):7.1f} us a sweep", flush=True)
    team.finalize()


if __name__ == "__main__":
    main()
