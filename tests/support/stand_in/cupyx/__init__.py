"""What pennympi.mpi calls of cupyx, where there is no GPU."""

from numpy import empty as empty_pinned

__all__ = ["empty_pinned"]
