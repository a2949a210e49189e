"""The machine that does its worst: kernel texts, unchanged, in plain Python under a scheduler that is against them.

A block is a greenlet and every primitive may switch, so one seed is one schedule and a deadlock is seen at once.

    faults.py     what can go wrong            scheduler.py  who runs next
    memory.py     a PE's bytes, with bounds    network.py    how puts and signals travel, three kinds
    device.py     PEs, launches and blocks     bodies.py, packets.py   the primitives' bodies
    lanes.py      a row's workspace and arguments
    calls.py, one_sided.py, solver.py   random calls and their right answers;  program.py  a run of many
    mutations.py  faults that are planted      known.py      faults that texts have today
    residency.py  launches of several streams on a device with few slots;  streams.py  the same with real texts
    issued.py     the library's order of calls as a policy of these two
"""
