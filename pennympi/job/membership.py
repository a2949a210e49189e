"""A check that all PEs of a communicator are in the first team, whose memory and links all later teams use."""

from mpi4py import MPI

from ..errors import Unsupported
from .job import Job


def ranks_in_first_team(job: Job, first: MPI.Group | None) -> tuple[int, ...] | None:
    """The rank in the first team of each PE of the job; None if no PE of the job has had a team yet.  Collective.

    first: the PEs of this process's first team, None before it is made
    Raises Unsupported on every PE of the job if a PE is not in the first team of another PE.
    """
    ranks = () if first is None else tuple(MPI.Group.Translate_ranks(job.comm.group, None, first))
    outside = {pe for pe, rank in enumerate(ranks) if rank == MPI.UNDEFINED}
    gathered = job.gather(None if first is None else outside, "comparison of first teams")
    if all(missing is None for missing in gathered):
        return None
    strangers = sorted(set().union(*({pe} if missing is None else missing for pe, missing in enumerate(gathered))))
    if strangers:
        is_single = len(strangers) == 1
        names = f"{'PE' if is_single else 'PEs'} {', '.join(map(str, strangers[:8]))}"
        raise Unsupported(
            f"on GPUs all teams of a process are parts of its first team, but {names} of this communicator "
            f"{'was' if is_single else 'were'} not in the first team of every other PE (NVSHMEM starts once in a "
            "process): first make a team over MPI.COMM_WORLD, or over all PEs that later teams contain"
        )
    return ranks
