"""What the system refuses a process: files that grow, descriptors, memory; and a disk that is full."""

import os
import resource
from contextlib import contextmanager

import pytest


@contextmanager
def limited(which, most):
    """``which``: resource.RLIMIT_FSIZE, for one, after which a file can't grow larger"""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


@pytest.fixture
def full_disk(monkeypatch):
    """No file can be written."""

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
