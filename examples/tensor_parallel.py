"""Two linear layers with a residual, cut over the PEs as in Megatron-LM, on PyTorch tensors.

    mpirun -np 4 python examples/tensor_parallel.py

y = x + relu(x A) B.  Each PE has some columns of A and the same rows of B, so that its product is a partial sum;
one AllReduce adds these up, and the residual x with them, in the same kernel.
"""

import sys

from mpi4py import MPI

import pennympi

try:
    import torch
except ImportError:
    what = "this example needs PyTorch: pip install torch (CPU only: --index-url https://download.pytorch.org/whl/cpu)"
    sys.exit(what if MPI.COMM_WORLD.rank == 0 else 1)

TOKENS, WIDTH, INNER = 128, 256, 256  # INNER: columns of A that each PE has

with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    torch.manual_seed(7)  # the same numbers on every PE
    x = torch.randn(TOKENS, WIDTH)  # (TOKENS, WIDTH)
    a, b = torch.randn(WIDTH, n * INNER) / WIDTH**0.5, torch.randn(n * INNER, WIDTH) / (n * INNER) ** 0.5
    expected = x.double() + torch.relu(x.double() @ a.double()) @ b.double()  # (TOKENS, WIDTH), on one PE

    partial = torch.from_dlpack(team.empty((TOKENS, WIDTH), "float32"))  # in symmetric memory
    own = slice(me * INNER, (me + 1) * INNER)
    x, own_a, own_b = (matrix.contiguous().to(partial.device) for matrix in (x, a[:, own], b[own]))
    torch.mm(torch.relu(x @ own_a), own_b, out=partial)  # (TOKENS, INNER), (TOKENS, WIDTH)
    y = team.allreduce(partial, torch.empty_like(x), residual=x)  # (TOKENS, WIDTH); algorithm, stream as everywhere
    team.synchronize()

    error = max(team.gather(float((y.cpu() - expected).abs().max())))
    same = len(set(team.gather(y.cpu().numpy().tobytes()))) == 1
    if me == 0:
        bits = "the same bits on all PEs" if same else "DIFFERENT BITS"
        print(f"{n} PEs on {team.backend}: largest error {error:.1e} beside float64 on one PE, {bits}")
    assert error < 1e-4 and same
