"""python differ.py HOW: the PEs make different calls, and wait for one another.

HOW: raise (PE 0 and 1 raise at once), or calls (each PE waits for PE 0's signal in another call of the same number).
"""

import os
import sys
import time

import pennympi

team = pennympi.init()
words = team.signals(1)
team.gather(0)
os.write(1, f"fault {time.time()}\n".encode())
if sys.argv[1] == "raise":
    raise ValueError(f"broken on PE {team.me}")
team._job.control.enter("broadcast" if team.me == 0 else "reduce")  # as if it had sent, and waits for the next message
team.wait_signal(words, 1, source=(team.me + 1) % team.n_pes)
