"""The machines of the cost model: the constants of ``kernels/cost.py``, and their origin."""

from dataclasses import replace

from ..kernels.cost import Machine

NVLINK = Machine(
    name="NVLink 4 (H100, H200)",
    launch_us=1.0,
    message_us=0.3,
    step_us=2.5,
    packet_step_us=0.7,
    sent_gb_s=363,
    packet_gb_s=300,
    moved_gb_s=8000,
    added_gb_s=8000,
    net_step_us=5.0,
    nic_gb_s=48,
    source="benchmarks/results/allreduce-2xH200.json and -4xH200.json, in a CUDA graph; the network was not measured: "
    "NVSHMEM's puts reached 48 GB/s on a rail of 400 Gb/s in the Penny worklog, and the 5 us are an assumption",
    shared_out={"two_shot_copied": 512 << 20, "two_shot_direct": 16 << 20},
)
PCIE = replace(
    NVLINK,
    name="PCIe 4, or puts by NVSHMEM",
    step_us=5.0,
    sent_gb_s=22,
    source="not measured: a link of 16 lanes at nine tenths of its nominal rate",
    shared_out={},
)
MPI_CALL_US = 2  # time of a core to send or receive a message


def between_hosts(machine: Machine, step_us: float, gb_s: float) -> Machine:
    """A node of CPUs and the measured link to other nodes: each end of a message calls MPI."""
    return replace(
        machine,
        name=f"{machine.name}, and MPI to other nodes at {gb_s:.3g} GB/s and {step_us:.3g} us",
        message_us=machine.message_us + MPI_CALL_US,
        signal_us=MPI_CALL_US,
        net_step_us=step_us + machine.step_us,
        nic_gb_s=gb_s,
        source="the link: measured when the team started",
    )


def host(n_pes: int, cores: int) -> Machine:
    """Shared memory of a node with ``cores`` cores, which ``n_pes`` PEs share."""
    pes_per_core = max(1.0, n_pes / cores)
    # With more PEs than cores, a launch takes the time until each PE has had a core, and a message the time until its
    # receiver has a core.
    launch_us, step_us = (11, 2) if pes_per_core == 1 else (85, 12)
    return Machine(
        name=f"shared memory, {n_pes} PEs on {cores} cores",
        launch_us=launch_us,
        message_us=0.5,
        step_us=step_us,
        packet_step_us=step_us,
        sent_gb_s=5.9 / pes_per_core,  # the rate of a core that copies; it adds faster, since pieces are in its cache
        packet_gb_s=5.7 / pes_per_core,
        moved_gb_s=5.9 / pes_per_core,
        added_gb_s=12.5 / pes_per_core,
        net_step_us=step_us,
        nic_gb_s=5.9 / pes_per_core,
        source="two cores of a Xeon at 2.5 GHz, 2 and 4 PEs",
        shared_out={"two_shot_direct": 16 << 10},
    )
