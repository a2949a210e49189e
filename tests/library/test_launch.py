"""tests/support/launch.py: threads start jobs while other tests run."""

import os

from launch import launch


def test_the_environment_is_that_at_import(monkeypatch):
    """pytest changes os.environ before and after each test, and a thread that reads it meanwhile gets a KeyError."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", None)
        assert launch(1, command=["true"]).rc == 0
