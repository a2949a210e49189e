"""Heat on a plate by mpi4py alone: CuPy's arrays where there is a GPU, faces by Isend and Irecv, a residual by Allreduce.

mpirun -np 4 python -m pennympi run examples/mpi4py_heat.py        with arrays on GPUs any MPI will do
mpirun -np 4 python examples/mpi4py_heat.py                        with mpi4py's own communicator
"""

import time

import numpy as np
from mpi4py import MPI

try:
    import cupy as xp

    xp.cuda.Device(MPI.COMM_WORLD.rank % xp.cuda.runtime.getDeviceCount()).use()
except Exception:  # no CuPy, or no GPU
    xp = np
SIZE, STEPS, RATE = 512, 200, 0.2

grid = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2), periods=(True, True))
nx, ny = (SIZE // n for n in grid.dims)
y = 2 * np.pi * (grid.coords[1] * ny + xp.arange(ny)) / (ny * grid.dims[1])
field = xp.zeros((nx + 2, ny + 2))
field[1:-1, 1:-1] = xp.sin(y)  # a wave, which decays at a known rate
(x_minus, x_plus), (y_minus, y_plus) = grid.Shift(0, 1), grid.Shift(1, 1)
faces = [  # (destination, source, face to send, halo to receive)
    (x_minus, x_plus, field[1, 1:-1], field[-1, 1:-1]),
    (x_plus, x_minus, field[-2, 1:-1], field[0, 1:-1]),
    (y_minus, y_plus, field[1:-1, 1], field[1:-1, -1]),
    (y_plus, y_minus, field[1:-1, -2], field[1:-1, 0]),
]
buffers = [(xp.empty(sent.shape), xp.empty(sent.shape)) for _, _, sent, _ in faces]
residual = xp.zeros(1)
grid.Barrier()
for step in range(STEPS):
    if step == 1:  # in the first step CuPy compiles its kernels
        start_s = time.perf_counter()
    for (_, _, sent, _), (out, _) in zip(faces, buffers, strict=True):
        out[...] = sent
    requests = []
    for tag, ((to, source, _, _), (out, arrived)) in enumerate(zip(faces, buffers, strict=True)):
        requests += [grid.Irecv(arrived, source, tag), grid.Isend(out, to, tag)]
    MPI.Request.Waitall(requests)
    for (_, _, _, received), (_, arrived) in zip(faces, buffers, strict=True):
        received[...] = arrived
    inner = field[1:-1, 1:-1]
    change = RATE * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4 * inner)
    inner += change
    residual[...] = abs(change).sum()
    grid.Allreduce(MPI.IN_PLACE, residual)
step_us = (time.perf_counter() - start_s) / (STEPS - 1) * 1e6
decay = (1 + RATE * (2 * np.cos(2 * np.pi / (ny * grid.dims[1])) - 2)) ** STEPS
wrong = int((abs(field[1:-1, 1:-1] - decay * xp.sin(y)) > 1e-12).sum())
if grid.rank == 0:
    times = f"{STEPS} steps of {step_us:.0f} us, residual {float(residual[0]):.3e}"
    print(f"{grid.size} PEs on {'host' if xp is np else 'cuda'}: {times}, {wrong} points wrong")
assert not wrong
