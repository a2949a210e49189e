"""Two binary trees over the same PEs.  Every PE is a leaf in one of the trees, except one PE if n is odd.

Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009); NCCL
2.4.  In the first tree PE k has position k.  Positions 1 to n-1 form a search tree: odd positions are leaves, the lowest
set bit of a position is its height, and position 0 is the root, with one child.  In the second tree the positions of the
PEs are mirrored if n is even, and shifted by one if n is odd, so that a PE of an even position gets an odd position (if n
is odd, one PE is a leaf in neither tree).
"""

from .algorithm import Topology

TREES, NONE = 2, -1
LINKS = 4  # words of a tree: parent, first child, second child, index of this PE among its parent's children


def parent_of(position: int, n: int) -> int:
    """Position of the parent, whose lowest set bit is one bit higher; NONE for the root."""
    if position == 0:
        return NONE
    height = position & -position
    parent = (position ^ height) | (height << 1)
    return parent if parent < n else position ^ height


def children_of(position: int, n: int) -> list[int]:
    """Positions of the children, at most two (the root has one), in order."""
    return [child for child in range(1, n) if parent_of(child, n) == position]


def order(tree: int, n: int) -> list[int]:
    """The PE at each position of tree 0 or 1."""
    if tree == 0:
        return list(range(n))
    return list(reversed(range(n))) if n % 2 == 0 else [*range(1, n), 0]


def double_tree(topology: Topology, me: int) -> list[int]:
    """The ``peer_table``: the words of the first tree, then of the second tree."""
    n, words = topology.n_pes, []
    for tree in range(TREES):
        pes = order(tree, n)
        position = pes.index(me)
        parent = parent_of(position, n)
        children = [pes[child] for child in children_of(position, n)]
        words += [pes[parent] if parent != NONE else NONE, *children, *[NONE] * (2 - len(children))]
        words += [children_of(parent, n).index(position) if parent != NONE else NONE]
    return words
