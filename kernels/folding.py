"""Any number of PEs made a power of two, as exchanges with the PE at a distance of 1, 2, 4, ... need it.

Of n PEs the largest power of two p in n take a seat.  The first 2 (n - p) PEs are pairs: the
even one has no seat, gives its vector to the odd one, and gets the result from it at the end.
"""


def pof2(n_pes):
    """The largest power of two that is not above ``n_pes``: the number of seats."""
    seats = 1
    while 2 * seats <= n_pes:
        seats *= 2
    return seats


def hops_of(seats):
    """log2 of the number of seats."""
    hops = 0
    while 1 << hops < seats:
        hops += 1
    return hops


def new_rank(pe, rest):
    """The seat of a PE (of an even PE of a pair: that of the odd one); ``rest`` PEs have none."""
    return pe // 2 if pe < 2 * rest else pe - rest


def old_rank(seat, rest):
    """The PE on a seat."""
    return 2 * seat + 1 if seat < rest else seat + rest
