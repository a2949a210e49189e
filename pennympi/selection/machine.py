"""The speed of a machine, as the constants of the cost model (``cost.py``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Machine:
    """Constants of one kind of device and its links, in microseconds and in GB/s (1e9 bytes per second).

    launch_us:   cost of every call;  message_us: cost of every message that a PE sends
    signal_us:   cost of a signal that is a message of its own
    hop_us, packet_hop_us: time from a put until the peer has seen its signal, and from a packet's store to its load
    sent_gb_s, packet_gb_s: rate at which a PE sends inside its node, in one direction: by puts, and as packets' data
    moved_gb_s, added_gb_s: rate at which a PE copies and reduces in its own memory, where no link hides it
    net_hop_us, nic_gb_s:   time of a put to another node, and rate of one NIC in one direction
    source:      where the numbers come from
    shared_out:  {algorithm: the least bytes from which it is the fastest for a plan on a shared out}, the largest first
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
    signal_us: float = 0
    shared_out: Mapping[str, int] = field(default_factory=dict)


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
    source="benchmarks/results/allreduce-2xH200.json and -4xH200.json, in a CUDA graph; the network was not measured: "
    "NVSHMEM's puts reached 48 GB/s on a rail of 400 Gb/s in the Penny worklog, and the 5 us are an assumption",
    shared_out={"two_shot_copied": 512 << 20, "two_shot_direct": 16 << 20},
)
PCIE = replace(
    NVLINK,
    name="PCIe 4, or puts by NVSHMEM",
    hop_us=5.0,
    sent_gb_s=22,
    source="not measured: a link of 16 lanes at nine tenths of its nominal rate",
    shared_out={},
)
# Each core copies 5.9 GB/s, and reduces 12.5 GB/s of pieces that its cache holds.
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
    shared_out={"two_shot_direct": 16 << 10},
)
# With more PEs than cores, the launch lasts until each PE has had a core, and a hop until the next PE has one.
SHARED_CORE_LAUNCH_US, SHARED_CORE_HOP_US = 85, 12
MPI_CALL_US = 2  # of a core, to send a message or to receive it


def between_hosts(machine: Machine, hop_us: float, gb_s: float) -> Machine:
    """A node of CPUs and the measured link to other nodes, on which every message costs both ends a call of MPI."""
    return replace(
        machine,
        name=f"{machine.name}, and MPI to other nodes at {gb_s:.3g} GB/s and {hop_us:.3g} us",
        message_us=machine.message_us + MPI_CALL_US,
        signal_us=MPI_CALL_US,
        net_hop_us=hop_us + machine.hop_us,
        nic_gb_s=gb_s,
        source="the link: measured when the team started",
    )


def host(n_pes: int, cores: int) -> Machine:
    """Shared memory of a node with ``cores`` cores, which ``n_pes`` PEs share."""
    pes_per_core = max(1.0, n_pes / cores)
    launch_us, hop_us = (
        (_HOST.launch_us, _HOST.hop_us) if pes_per_core == 1 else (SHARED_CORE_LAUNCH_US, SHARED_CORE_HOP_US)
    )
    return replace(
        _HOST,
        name=f"shared memory, {n_pes} PEs on {cores} cores",
        launch_us=launch_us,
        hop_us=hop_us,
        packet_hop_us=hop_us,
        net_hop_us=hop_us,
        sent_gb_s=_HOST.sent_gb_s / pes_per_core,
        packet_gb_s=_HOST.packet_gb_s / pes_per_core,
        moved_gb_s=_HOST.moved_gb_s / pes_per_core,
        added_gb_s=_HOST.added_gb_s / pes_per_core,
        nic_gb_s=_HOST.nic_gb_s / pes_per_core,
    )
