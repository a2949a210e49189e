"""Runs NVIDIA's Jacobi samples (github.com/NVIDIA/multi-gpu-programming-models), which must have been built.

A sample compares its field with that of one GPU, which it also times, and prints its csv line only if they agree:
    single_gpu, nx, ny, niter, nccheck, seconds
    NAME, nx, ny, niter, nccheck, GPUs, 1, seconds, seconds of one GPU
"""

from pathlib import Path

from launching import command, run

# (folder, options), those that are usually the fastest first.  A folder that ends in _staged holds the sample of that
# name, changed to send its rows through pinned memory, for an MPI that is not CUDA-aware.
PROGRAMS = (
    ("single_gpu", ()),
    ("nccl_overlap", ()),
    ("nvshmem", ("-norm_overlap", "-neighborhood_sync")),
    ("nccl_graphs", ()),
    ("nccl_overlap", ("-user_buffer_reg",)),
    ("nvshmem", ()),
    ("mpi_overlap", ("-use_hp_streams",)),
    ("mpi_overlap_staged", ("-use_hp_streams",)),
    ("nccl", ()),
    ("mpi", ()),
    ("mpi_staged", ()),
)
EVERY_SWEEP_ONLY = ("single_gpu", "nvshmem")  # they refuse any other -nccheck than 1
ON_ONE = PROGRAMS[:3]  # on one GPU; the others do the same there, and send messages to themselves
LIMIT_S = 90.0


def programs(folder, n_pes, nccheck):
    """(name, path, options) of the samples that are built and can run this case."""
    built = [(name, options) for name, options in PROGRAMS if (Path(folder) / name / "jacobi").is_file()]
    if n_pes == 1:
        built = [one for one in built if one in ON_ONE] or built
    return [
        (" ".join([name, *options]), (Path(folder) / name / "jacobi").resolve(), options)
        for name, options in built
        if (n_pes == 1 or name != "single_gpu") and (nccheck == 1 or name not in EVERY_SWEEP_ONLY)
    ]


def read(text, n):
    """(seconds, seconds of one GPU or None) of the csv line.  Raises ValueError if there is none."""
    for line in reversed(text.splitlines()):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 6 and fields[1] == str(n):
            return float(fields[5]), None
        if len(fields) == 9 and fields[1] == str(n):
            return float(fields[7]), float(fields[8])
    raise ValueError(" / ".join(text.strip().splitlines()[-3:])[-300:] or "it printed nothing")


def rows(launcher, one, n_pes, n, nccheck, iterations, repeat):
    """The rows of one of ``programs``, from the best of ``repeat`` runs.  Raises ValueError with its output if it fails.

    On one PE there is a row more, of the plain single-GPU solve that every sample but single_gpu begins with.
    """
    name, path, options = one
    line = [path, *f"-csv -nx {n} -ny {n} -niter {iterations} -nccheck {nccheck}".split(), *options]
    start = list(map(str, line)) if name == "single_gpu" else command(launcher, n_pes, *line)
    found = []
    for _ in range(repeat):
        status, text = run(start, LIMIT_S, capture=True, cwd=path.parent)
        if status is None:
            raise ValueError(f"took more than {LIMIT_S:.0f} s")
        found.append(read(text, n))
    case = {"pes": n_pes, "n": n, "nccheck": nccheck}
    seconds = [one[0] for one in found]
    serial = [one[1] for one in found if one[1] is not None]
    result = [{"variant": name, **case, "seconds": min(seconds), "runs": seconds}]
    if serial and n_pes == 1:
        result.append({"variant": f"one GPU, in {name}", **case, "seconds": min(serial), "runs": serial})
    return result
