"""PE 0 makes something for the cache, which takes it 4 s, while the others wait for it in a meeting."""

import time

import pennympi
from pennympi.compile.cache import made_once


def slowly():
    time.sleep(4)
    return b"made"


with pennympi.init() as team:
    if team.me == 0:
        made_once("slow", (str(time.time()),), slowly)
    team.gather(team.me)
print("done")
