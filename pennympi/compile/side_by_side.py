"""Kernels that all PEs of a node need, compiled side by side: a PE begins with other ones than its neighbours.

What a PE has compiled the others take from the cache (cache.py), which lets one process at a time compile a kernel.
"""


def order_of(count: int, local: int, n_local: int) -> list[int]:
    """The order in which PE ``local`` of the ``n_local`` of a node goes through ``count`` kernels: indices.

    First its own share, then those of the PEs behind it, from the last kernel to the first, because whoever's share it
    is began with the first.
    """
    shares = [range(count * pe // n_local, count * (pe + 1) // n_local) for pe in range(n_local)]
    behind = [reversed(shares[(local + step) % n_local]) for step in range(1, n_local)]
    return [*shares[local], *(index for share in behind for index in share)]
