# Sourced by the other scripts: the memory, the transports and the deadline of a run. Each line gives a default that the
# job's own environment overrides. docs/settings.md lists all PENNYMPI_* variables; NVSHMEM's manual, all NVSHMEM_* ones.

# Memory of the symmetric heap of one PE (suffixes k, m, g are powers of 1024). Every symmetric array and the collectives'
# buffers live in it. A Jacobi run needs 2 * (ny / PEs + 2) * nx * itemsize bytes, and a tenth more.
# cuda: NVSHMEM's. It grows by itself where the GPU's virtual memory API is in use (the default on x86); where
# NVSHMEM_DISABLE_CUDA_VMM=1 is set it is a hard limit.
export NVSHMEM_SYMMETRIC_SIZE="${NVSHMEM_SYMMETRIC_SIZE:-2g}"
# host: the library's, a hard limit. auto: the smaller of 1 GiB and this PE's share of half of the free shared memory.
export PENNYMPI_SYMMETRIC_SIZE="${PENNYMPI_SYMMETRIC_SIZE:-auto}"

# How PEs reach the GPUs of other nodes: ibrc (InfiniBand or RoCE, the default), ucx, libfabric (Slingshot, EFA), none.
# On one node set it to none: nothing is looked for on the network, and start-up is quicker.
export NVSHMEM_REMOTE_TRANSPORT="${NVSHMEM_REMOTE_TRANSPORT:-ibrc}"

# 1: kernels ring the network card's doorbell themselves (mlx5 cards), instead of asking a CPU thread to. pennympi's kernels
# are compiled by NVRTC, which can't compile NVSHMEM's code for that: they ask the CPU thread either way, so leave it at 0.
export NVSHMEM_IB_ENABLE_IBGDA="${NVSHMEM_IB_ENABLE_IBGDA:-0}"

# The unique id that bootstraps NVSHMEM is broadcast over the MPI communicator, so no PMI is needed; after that the PEs
# find each other by TCP. Where the first interface is not the right one, name it (a prefix is enough).
# export NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=ib0

# 1: no NVLink multicast (NVSwitch's in-network reduction). Set it where the machine's fabric manager or container does
# not allow multicast objects and start-up fails on them.
# export NVSHMEM_DISABLE_NVLS=1

# Seconds that any wait for another PE lasts before it ends in PeerTimeout; 0 means for ever. Longer than the longest pause
# between two PEs that you expect (one of them writes a file, say), shorter than the time limit of the job.
export PENNYMPI_TIMEOUT_S="${PENNYMPI_TIMEOUT_S:-60}"
