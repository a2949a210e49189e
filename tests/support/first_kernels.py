"""The kernels of the collectives, compiled by all ranks at a time, each its share: a job compiles them one by one."""

from collective_cases import TABLES

from pennympi.compile.options import PLAIN
from pennympi.host.compile import compiled
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS


def compile_in_shares(comm):
    """Fills the cache of kernels for CPUs.  Collective."""
    rows = [row for table in (*TABLES.values(), PLANNED, FORMS) for row in table.values()]
    for row in rows[comm.rank :: comm.size]:
        compiled(row.kernel, PLAIN)
    comm.Barrier()
