"""What the system refuses a process: files that grow, descriptors, memory."""

import resource
from contextlib import contextmanager


@contextmanager
def limited(which, most):
    """``which``: resource.RLIMIT_FSIZE, for one, after which a file can't grow larger"""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)
