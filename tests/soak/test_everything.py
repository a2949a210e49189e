"""Everything at once."""

import time

from jobs import PROGRAMS, job, record_of

SHAPES = ((4, 0), (3, 0), (4, 2), (2, 0), (6, 3), (2, 1), (5, 0), (8, 4))  # PEs, and PEs of a node (0: all)


def test_everything_at_once(turns, end_s, row, choose):
    """Collectives by every algorithm, teams, plans, streams, puts, exchanges and halos of grids in random
    order, with PEs that come late, on one node and on two

    every result is exact, and the heap is whole at the end; a run of half an hour also compares memory, descriptors and
    threads
    """
    begin_s = time.monotonic()
    for turn in turns:
        seconds = min(max(8.0, (end_s - begin_s) / 4), max(3.0, end_s - time.monotonic() - 3))
        seed, (n, per_node) = choose.randrange(1 << 24), SHAPES[turn % len(SHAPES)]
        ended = job(n, PROGRAMS / "everything.py", seconds, seed, per_node=per_node, limit_s=seconds + 300)
        done, failure = record_of(ended)
        row.count(failure and f"{n} PEs, {per_node or n} a node, seed {seed}: {failure}", done)
    assert not row.failures
