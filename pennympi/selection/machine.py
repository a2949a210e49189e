"""How fast a machine is, in the few numbers that the cost model knows (``cost.py``)."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Machine:
    """Constants of one kind of device and its links.  GB are 1e9 bytes.

    launch_us:   of a call, whatever it does;  message_us: of each further message that a PE sends
    hop_us, packet_hop_us: from a put to the peer that has seen its signal, and from a packet sent to one read
    sent_gb_s, packet_gb_s: that a PE sends to its node, one direction, by puts and as data in packets
    moved_gb_s, added_gb_s: copied and added up in a PE's own memory, as far as no link hides it
    net_hop_us, nic_gb_s:   of a put to another node, and of one NIC, one direction
    source:      where the numbers are from
    """

    name: str
    launch_us: float
    message_us: float
    hop_us: float
    packet_hop_us: float
    sent_gb_s: float
    packet_gb_s: float
    moved_gb_s: float
    added_gb_s: float
    net_hop_us: float
    nic_gb_s: float
    source: str


NVLINK = Machine(
    name="NVLink 4 (H100, H200)",
    launch_us=1.0,
    message_us=0.3,
    hop_us=2.5,
    packet_hop_us=0.7,
    sent_gb_s=363,
    packet_gb_s=300,
    moved_gb_s=8000,
    added_gb_s=8000,
    net_hop_us=5.0,
    nic_gb_s=48,
    source="benchmarks/results/allreduce-2xH200.json and -4xH200.json, in a CUDA graph; the network was not measured "
    "here: a rail of 400 Gb/s gave 48 GB/s to NVSHMEM's puts in the Penny worklog, 5 us are assumed",
)
PCIE = replace(
    NVLINK,
    name="PCIe 4, or puts by NVSHMEM",
    hop_us=5.0,
    sent_gb_s=22,
    source="not measured: a link of 16 lanes at nine tenths of its rate",
)
# One process a core copies 5.9 GB/s and adds up 12.5 GB/s of pieces that its cache holds.
_HOST = Machine(
    name="shared memory",
    launch_us=11,
    message_us=0.5,
    hop_us=2,
    packet_hop_us=2,
    sent_gb_s=5.9,
    packet_gb_s=5.7,
    moved_gb_s=5.9,
    added_gb_s=12.5,
    net_hop_us=2,
    nic_gb_s=5.9,
    source="two cores of a Xeon at 2.5 GHz, 2 and 4 PEs",
)
# With more PEs than cores: until each has had a core for its call, and until the next is given one.
CROWDED_LAUNCH_US, CROWDED_HOP_US = 85, 12


def host(n_pes: int, cores: int) -> Machine:
    """Shared memory of a node with so many cores: PEs beyond them share them, and wait for one."""
    crowd = max(1.0, n_pes / cores)
    launch_us, hop_us = (_HOST.launch_us, _HOST.hop_us) if crowd == 1 else (CROWDED_LAUNCH_US, CROWDED_HOP_US)
    return replace(
        _HOST,
        name=f"shared memory, {n_pes} PEs on {cores} cores",
        launch_us=launch_us,
        hop_us=hop_us,
        packet_hop_us=hop_us,
        net_hop_us=hop_us,
        sent_gb_s=_HOST.sent_gb_s / crowd,
        packet_gb_s=_HOST.packet_gb_s / crowd,
        moved_gb_s=_HOST.moved_gb_s / crowd,
        added_gb_s=_HOST.added_gb_s / crowd,
        nic_gb_s=_HOST.nic_gb_s / crowd,
    )
