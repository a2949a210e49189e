"""A pass of a sweep on a CPU."""

from .march import deepest, pass_kernel

__all__ = ["deepest", "pass_kernel"]
