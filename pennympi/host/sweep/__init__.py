"""A pass of a sweep on a CPU."""

from .march import pass_kernel, why_not

__all__ = ["pass_kernel", "why_not"]
