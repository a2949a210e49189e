"""One-shot AllReduce by packets: every PE sends its vector to every other PE, without a barrier; one latency step.

Source: the LL128 protocol of NCCL (a flag in every 128-byte line, which NVLink stores at once) and the pushed one-shot of
SGLang and TensorRT-LLM.
"""

from functools import partial

from ..algorithm import ROUND_ONCE
from ..cost import Shots, shots_us
from ..packets import exchange_reduce_packets
from ..plans import packet_algorithm
from ..records import ONE_ROW, PE, Packets, Reduction, Work
from ..slots import outbox_of, packet_slots
from ..steps import first_count, piece_inside, store_count, tag_epoch


def one_shot_packets(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,), plus residual (n_elems,) if not 0; out may be src or residual.

    The residual is added before the result is rounded.

    inbox  (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    count, start, stride = first_count(work, call.piece_elems)
    while start < call.n_elems:
        count += 1
        epoch = tag_epoch(work, count)
        # When packets of epoch e+1 have come from all PEs, all PEs have read epoch e: two buffers suffice.
        incoming = Packets(packet_slots(work, count, pe.n_pes), epoch)
        exchange_reduce_packets(pe, piece_inside(call, start), ONE_ROW, incoming, outbox_of(work, count))
        start += stride
    store_count(work, count)


ALGORITHM = packet_algorithm(
    one_shot_packets, cost_us=partial(shots_us, shots=Shots(1, packets=True, overlaps=True)),
    residual=ROUND_ONCE, canonical=True,
)  # fmt: skip
