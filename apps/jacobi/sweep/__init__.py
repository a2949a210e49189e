"""The kernels that sweep the rows of a PE, on CPUs and GPUs, and their launches."""
