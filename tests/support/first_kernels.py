"""Compiles the kernels of the collectives on all ranks at once, a share on each: a job would compile them one by one."""

from collective_cases import TABLES

from pennympi.compile.options import PLAIN
from pennympi.host.runtime.compile import compiled
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS


def compile_in_shares(comm):
    """Fill the cache of kernels for CPUs.  Collective."""
    algorithms = [algorithm for table in (*TABLES.values(), PLANNED, FORMS) for algorithm in table.values()]
    for algorithm in algorithms[comm.rank :: comm.size]:
        compiled(algorithm.kernel, None, PLAIN.kinds_of(algorithm.kernel))
    comm.Barrier()
