"""Two binary trees over the same PEs.  Every PE, but one where n is odd, is a leaf in one of them.

Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast,
reduction and scan" (2009); NCCL 2.4.  In the first tree the positions 1..n-1 stand in
order of a search tree: odd ones are leaves, the lowest set bit is a position's height,
and position 0 is the root above, with one child.  The second tree is the first over the
PEs in another order, which gives the odd positions to the PEs that were even: mirrored
for an even n, turned by one for an odd n (where one PE is a leaf in neither).
"""

from .algorithm import Topology

TREES, NONE = 2, -1
LINKS = 4  # words of a tree: parent, first child, second child, which child of its parent this PE is


def parent_of(position: int, n: int) -> int:
    """Position of the parent, one bit higher; NONE for the root."""
    if position == 0:
        return NONE
    height = position & -position
    above = (position ^ height) | (height << 1)
    return above if above < n else position ^ height


def children_of(position: int, n: int) -> list[int]:
    """Positions of the children, at most two (of the root: one), in order."""
    return [one for one in range(1, n) if parent_of(one, n) == position]


def order(tree: int, n: int) -> list[int]:
    """The PE on each position of tree 0 or 1."""
    if tree == 0:
        return list(range(n))
    return list(reversed(range(n))) if n % 2 == 0 else [*range(1, n), 0]


def double_tree(topology: Topology, me: int) -> list[int]:
    """The ``peer_table`` of both trees, one after the other."""
    n, words = topology.n_pes, []
    for tree in range(TREES):
        pes = order(tree, n)
        position = pes.index(me)
        parent = parent_of(position, n)
        children = [pes[child] for child in children_of(position, n)]
        words += [pes[parent] if parent != NONE else NONE, *children, *[NONE] * (2 - len(children))]
        words += [children_of(parent, n).index(position) if parent != NONE else NONE]
    return words
