"""An NCCL communicator over the team's PEs, by nccl4py."""

from typing import Any


class Communicator:
    """A communicator.  Making one is collective.  The first call of each kind takes a third of a second."""

    def __init__(self, team: Any):
        import nccl.core as nccl

        self.nccl = nccl
        uid = team.comm.bcast(nccl.get_unique_id() if team.me == 0 else None)
        self.comm = nccl.Communicator.init(team.n_pes, team.me, uid)


def missing(team: Any) -> str:
    """The reason why NCCL cannot be used, or "".  Collective."""
    if team.backend != "cuda":
        return "NCCL needs GPUs, and this is the host backend"
    try:
        import nccl.core  # noqa: F401
    except ImportError:
        return "nccl4py is not installed: pip install nccl4py"
    import cupy

    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["uuid"]
    is_alone = len(set(team.comm.allgather(device))) == team.n_pes
    return "" if is_alone else "NCCL needs a GPU for each PE, and some of these PEs share a GPU"
