"""The kernel of passes on a CPU."""

from .march import most_sweeps, pass_kernel

__all__ = ["most_sweeps", "pass_kernel"]
