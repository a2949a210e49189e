"""The backend of a machine without GPUs: shared memory, and kernels by numba.njit."""
