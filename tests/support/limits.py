"""Limits of the system for a process: file sizes, descriptors, memory."""

import resource
from contextlib import contextmanager


@contextmanager
def limited(which, most):
    """Set a limit.  which: such as resource.RLIMIT_FSIZE, beyond which a file can't grow"""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)
