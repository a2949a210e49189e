"""Whether a communicator's PEs are all in the first team of this process: its memory and links serve all later ones."""

from mpi4py import MPI

from ..errors import Unsupported
from .job import Job


def numbers_in(job: Job, first: MPI.Group | None) -> tuple[int, ...] | None:
    """What the first team calls each PE of the job; None when no PE of the job has had a team yet.  Collective.

    first: the PEs of this process's first team
    Raises Unsupported, alike on every PE of the job, when one of them is not in the first team of every other.
    """
    numbers = () if first is None else tuple(MPI.Group.Translate_ranks(job.comm.group, None, first))
    outside = {pe for pe, number in enumerate(numbers) if number == MPI.UNDEFINED}
    said = job.gather(None if first is None else outside, "look at the first team")
    if all(one is None for one in said):
        return None
    strangers = sorted(set().union(*({pe} if one is None else one for pe, one in enumerate(said))))
    if strangers:
        names = ", ".join(map(str, strangers[:8]))
        raise Unsupported(
            f"on GPUs all teams of a process are parts of its first one, and of this communicator's PEs {names} "
            f"{'was' if len(strangers) == 1 else 'were'} not in the first team of every other (NVSHMEM starts once a "
            "process): make a team over MPI.COMM_WORLD, or over all PEs that are ever to be in one team, before any other"
        )
    return numbers
