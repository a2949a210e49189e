"""The double binary tree, at any number of PEs: two shallow trees, and each PE is a leaf in one of them."""

import pytest

from pennympi.kernels.algorithm import Topology
from pennympi.kernels.trees import LINKS, NONE, TREES, double_tree


@pytest.mark.parametrize("n", [*range(2, 18), 31, 32, 99, 128])
def test_double_tree(n):
    topology = Topology((0,) * n)
    peer_table = [double_tree(topology, me) for me in range(n)]
    inner = [0] * n
    for tree in range(TREES):
        parents, firsts, seconds, slots = ([words[tree * LINKS + k] for words in peer_table] for k in range(LINKS))
        (root,) = [pe for pe in range(n) if parents[pe] == NONE]
        assert seconds[root] == NONE and firsts[root] != NONE, "a root has one child: it completes a piece from it"
        depth = {root: 0}
        level = [root]
        while level:
            below = [(pe, child, k) for pe in level for k, child in enumerate((firsts[pe], seconds[pe])) if child != NONE]
            for pe, child, k in below:
                assert child not in depth and parents[child] == pe and slots[child] == k
                depth[child] = depth[pe] + 1
            level = [child for _, child, _ in below]
        assert sorted(depth) == list(range(n)), "a PE is not reached"
        assert max(depth.values()) <= (n - 1).bit_length(), "deeper than log2 n"
        for pe in range(n):
            inner[pe] += firsts[pe] != NONE
    assert inner.count(2) == n % 2 and max(inner) <= 2
