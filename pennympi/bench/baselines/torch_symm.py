"""AllReduce of PyTorch on its symmetric memory, ``torch.ops.symm_mem``, by loads and stores, and not by multicast."""

from typing import Any

import cupy
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory

from ...arrays.dtypes import DType
from ...team import Team
from ..cases import Case
from ..implementation import Call, Implementation

DTYPES = ("float32", "bfloat16")  # dtypes of its kernels


class TorchSymm(Implementation):
    """A kernel of PyTorch over the team's PEs; see ``Implementation``.  The constructor is collective.

    shots: "one_shot", or "two_shot", the only kernel with an in-place form
    """

    def __init__(self, team: Team, nbytes: int, shots: str):
        self.name, self.version = "torch-symm-" + shots.replace("_", "-"), f"PyTorch {torch.__version__}"
        self._shots = shots
        if not dist.is_initialized():
            dist.init_process_group("nccl", store=_store(team), rank=team.me, world_size=team.n_pes)
        self._group = dist.group.WORLD.group_name
        self._tensors: dict[int, Any] = {}  # {address: the tensor that holds it}
        self.memory = self._allocate(nbytes), self._allocate(nbytes)

    def _allocate(self, nbytes: int) -> Any:
        tensor = symmetric_memory.empty(nbytes, dtype=torch.uint8, device=torch.device("cuda", cupy.cuda.Device().id))
        symmetric_memory.rendezvous(tensor, self._group)
        self._tensors[tensor.data_ptr()] = tensor
        return cupy.from_dlpack(tensor)

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        if case.name != "allreduce" or dtype.name not in DTYPES or op != "sum":
            return f"PyTorch's symmetric memory has sums of {' and '.join(DTYPES)}, by AllReduce alone"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        return self._shots == "two_shot" or not in_place

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        src, dst, ops = self._tensor(source), self._tensor(target), torch.ops.symm_mem
        run = ops.two_shot_all_reduce_ if source is target else getattr(ops, f"{self._shots}_all_reduce_out")
        args = (src, op, self._group) if source is target else (src, op, self._group, dst)

        def call(stream: Any) -> None:
            with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
                run(*args)

        return call

    def _tensor(self, x: Any) -> Any:
        """The tensor of an array at the start of its memory."""
        return self._tensors[x.data.ptr][: x.nbytes].view(getattr(torch, x.dtype.name))


def _store(team: Team) -> Any:
    """PyTorch's store, which PE 0 serves."""
    own_store = dist.TCPStore("localhost", 0, team.n_pes, True, wait_for_workers=False) if team.me == 0 else None
    port = team.gather(own_store.port if own_store else None)[0]
    return own_store or dist.TCPStore("localhost", port, team.n_pes, False)
