"""Bytes between nodes that each rail carried."""

import numpy as np

from ..kernels.algorithm import Place


def bytes_by_rail(place: Place, sent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(out, into): bytes between nodes, summed by the sender's and by the receiver's node and rail.

    sent: (n_pes, n_pes) int64; row i is ``team.bytes_sent()`` of PE i, the bytes that it put to each PE
    out, into: (n_nodes, n_rails) int64, the bytes that left and that entered each node by each rail
    """
    rails, node_of = place.rails, place.node_of
    out = np.zeros((len(place.nodes), max(rails) + 1), np.int64)
    into = np.zeros_like(out)
    for pe, row in enumerate(sent):
        for peer, nbytes in enumerate(row):
            if node_of[pe] != node_of[peer]:
                out[node_of[pe], rails[pe]] += nbytes
                into[node_of[peer], rails[peer]] += nbytes
    return out, into
