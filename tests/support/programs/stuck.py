"""python stuck.py [THREAD_LEVEL [NODES]]: PE 1 waits in MPI for ever, after a pretended device has given up.

With a thread level of MPI, every PE's device gives up at once.  NODES: any text, if each PE is a node of its own.
"""

import os
import sys
import time

import mpi4py
import numpy as np

if sys.argv[1:]:
    mpi4py.rc.thread_level = sys.argv[1]
from mpi4py import MPI

from pennympi.errors import PeerTimeout
from pennympi.job import ending, exits
from pennympi.job.job import Job
from pennympi.job.monitor import DeviceMonitor


def main():
    if MPI.COMM_WORLD.rank == 1:
        os.write(1, f"fault {time.time()}\n".encode())
    if sys.argv[2:]:
        os.environ["PENNYMPI_NODE"] = f"node{MPI.COMM_WORLD.rank}"
    ending.prepare(MPI.COMM_WORLD)
    exits.install()
    job = Job(MPI.COMM_WORLD)
    error = PeerTimeout(job.me, 0, "allreduce", epoch=7, timeout_s=job.timeout_s)
    monitor = DeviceMonitor(lambda: error if job.me == 1 or sys.argv[1:] else None, grace_s=0.5)
    job.comm.Recv(np.zeros(1), source=(job.me + 1) % job.n_pes)
    monitor.stop()


main()
