"""The whole job is stopped for two deadlines and goes on, while PEs wait for PE 0: PE 1 in a kernel, PE 2 in a meeting of
the library, PE 3 in MPI.
"""

import os
import subprocess
import time

from mpi4py import MPI

import pennympi

TIMEOUT_S = float(os.environ["PENNYMPI_TIMEOUT_S"])
world = MPI.COMM_WORLD
pairs = [world.Create_group(world.group.Incl([0, pe])) for pe in (1, 2, 3) if world.rank in (0, pe)]
with pennympi.init(world) as team:
    words = team.signals(1)
    meeting = pennympi.init(pairs[world.rank == 0]) if world.rank in (0, 2) else None
    pids = " ".join(map(str, team.gather(os.getpid())))
    if team.me == 0:
        script = f"sleep 0.3; kill -STOP {pids}; sleep {2 * TIMEOUT_S}; kill -CONT {pids}"
        subprocess.Popen(["sh", "-c", script], start_new_session=True)
        time.sleep(1)  # is over when the job goes on
        time.sleep(TIMEOUT_S / 2)
        team.put_signal(words, words, words, 1, 1)
        meeting.gather(0)
        pairs[2].Barrier()
    elif team.me == 1:
        team.wait_signal(words, 1, source=0)
    elif team.me == 2:
        meeting.gather(0)
    else:
        pairs[0].Barrier()
    if meeting:
        meeting.finalize()
if world.rank == 0:
    print("done")
