"""NCCL beside the inner rows:

    push stream   edge rows | ncclGroup: 2 sends, 2 receives
    stream        inner rows .............................. | norm

Read first: nccl.py.
"""

from . import nccl

sentence = "edge rows on a second stream, exchanged by NCCL beside the inner rows (GPUs)"


class Variant(nccl.Variant):
    overlaps = True
