"""The kernels of sweeps on a GPU."""
