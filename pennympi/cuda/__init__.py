"""The backend of NVIDIA GPUs: NVSHMEM's symmetric heap, kernels by numba.cuda, CuPy arrays."""
