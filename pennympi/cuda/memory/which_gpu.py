"""The choice of a PE's GPU: the GPU that its program has made current, else the GPU of the PE's number on the machine."""

import os
import warnings

import cupy

from ...job.job import Job


def number_of_gpu(job: Job) -> int:
    """Number of this PE's GPU.  GPU 0 is current by default, so the current GPUs of a machine count as chosen by the
    program only if a PE of the machine has another one.

    Collective.
    """
    runtime, machine_pes = cupy.cuda.runtime, job.control.machine_pes
    n_gpus = runtime.getDeviceCount()
    sees_one = n_gpus == 1 and os.environ.get("CUDA_VISIBLE_DEVICES", "").count(",") == 0
    if sees_one and len(machine_pes) > 1 and job.me == 0:
        warnings.warn(
            f"{len(machine_pes)} PEs of this node see one GPU each: they share it, or NVLink peers are hidden from one "
            "another; give every rank all GPUs of its node (srun --gpu-bind=none)",
            stacklevel=7,  # the line of the program that calls init
        )
    current = job.gather(runtime.getDevice(), "look at the current GPUs")
    chosen = any(current[pe] for pe in machine_pes)
    return int(current[job.me] if chosen else machine_pes.index(job.me) % n_gpus)
