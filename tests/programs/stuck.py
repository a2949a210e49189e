"""PE 1 waits in MPI for ever, while a device (here: nobody) has long given up."""

import time

import numpy as np
from mpi4py import MPI

from pennympi.errors import PeerTimeout
from pennympi.job import Job, Watchdog


def main():
    job = Job(MPI.COMM_WORLD)
    error = PeerTimeout(job.me, 0, "allreduce", epoch=7, timeout_s=job.timeout_s)
    watchdog = Watchdog(job, lambda: error if job.me == 1 else None, grace_s=0.5)
    if job.me == 1:
        print("fault", time.time(), flush=True)
    job.comm.Recv(np.zeros(1), source=1 - job.me)
    watchdog.stop()


main()
