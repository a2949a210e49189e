"""The memory of GPUs: NVSHMEM's heap, arrays, peers and links."""
