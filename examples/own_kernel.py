"""A kernel of your own, in Python: it sends its vector to the right PE, receives that of the left PE, and adds the two.

mpirun -np 4 python examples/own_kernel.py
"""

from mpi4py import MPI

import pennympi
from pennympi.kernels.block import Elements, Message, Words, block, blocks, lanes, load, put_signal, store, wait

COUNT, ITEM_BYTES, BLOCKS, ROUNDS = 100_000, 4, 8, 3  # float32


def add_left(ctx, y: Elements, x: Elements, inbox: Elements, words: Words, value: int, left: int, right: int):
    """y = x + the left PE's x, all (COUNT,); inbox (COUNT,) and words (BLOCKS,) are written by the left PE."""
    b = block()
    start, stop = b * COUNT // blocks(), (b + 1) * COUNT // blocks()  # this block's part
    offset = start * ITEM_BYTES  # arrays come as addresses
    put_signal(ctx, Message(inbox + offset, x + offset, (stop - start) * ITEM_BYTES, right), words + 8 * b, value)
    wait(ctx, words + 8 * b, value, left)  # a block waits only for the block of its own number on another PE
    for i in lanes(start, stop):  # the threads of the block take turns
        store(y, i, load(x, i) + load(inbox, i))


with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    left, right = (me - 1) % n, (me + 1) % n
    kernel = team.kernel(add_left, "float32")  # for the CPU by numba.njit, for the GPU by numba.cuda
    x = team.full(COUNT, me, "float32")  # (COUNT,)
    y, inbox = team.zeros(COUNT, "float32"), team.zeros(COUNT, "float32")  # (COUNT,)
    words = team.signals(BLOCKS)  # (BLOCKS,), they only grow

    for k in range(ROUNDS):
        kernel(BLOCKS, y, x, inbox, words, k + 1, left, right)  # stream= as everywhere
        team.barrier()  # in stream order: no PE puts again before all have read their inbox
    team.synchronize()

    wrong = sum(team.gather(int((y != me + left).sum())))
    if me == 0:
        print(f"{n} PEs on {team.backend}: {ROUNDS} rounds of a kernel of {BLOCKS} blocks, {wrong} elements wrong")
    assert wrong == 0
