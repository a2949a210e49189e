"""The backend of a machine without a GPU: shared memory, and kernels by numba.njit."""
