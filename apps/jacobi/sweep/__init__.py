"""One or several sweeps over a PE's rows, on CPUs and GPUs."""
