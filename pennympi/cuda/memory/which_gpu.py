"""Which GPU a PE uses: the one that its program has made current, or else the one of its number on the machine."""

import os
import warnings

import cupy

from ...job.job import Job


def number_of_gpu(job: Job) -> int:
    """Of this PE.  GPU 0 is current where nothing was chosen, so it counts as chosen if a PE of the machine has another.

    Collective.
    """
    runtime, beside = cupy.cuda.runtime, job.control.beside
    n_gpus = runtime.getDeviceCount()
    if n_gpus == 1 and len(beside) > 1 and job.me == 0 and os.environ.get("CUDA_VISIBLE_DEVICES", "").count(",") == 0:
        warnings.warn(
            f"{len(beside)} PEs of this node see one GPU each: they share it, or NVLink peers are hidden from one "
            "another; give every rank all GPUs of its node (srun --gpu-bind=none)",
            stacklevel=7,  # the line of the program that calls init
        )
    current = job.gather(runtime.getDevice(), "look at the current GPUs")
    chosen = any(current[pe] for pe in beside)
    return int(current[job.me] if chosen else beside.index(job.me) % n_gpus)
