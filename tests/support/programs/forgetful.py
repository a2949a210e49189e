"""python forgetful.py [STATUS] [LATE_S]: never finalizes; PE 0 reaches the end LATE_S seconds after the others."""

import sys
import time

import pennympi

team = pennympi.init()
x = team.zeros(100, "float32")
for algorithm in ("auto", "auto", "ring"):
    team.allreduce(x, algorithm=algorithm)
team.synchronize()
if team.me == 0:
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print("done")
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))
