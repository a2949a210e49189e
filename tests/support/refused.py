"""Calls that must fail with one line, before anything is sent."""

import re

import pytest

import pennympi


def refused(error, match, call, *args, **named):
    """Check that the call raises an error of one line, and so does its plan, if it has one.

    match: a part of the line, or a regular expression
    """
    owner = None if "stream" in named else getattr(call, "__self__", None)
    plan = None if owner is None else getattr(owner, f"plan_{call.__name__}", None)
    for function in (call, plan) if plan else (call,):
        with pytest.raises(error) as caught:
            function(*args, **named)
        text = str(caught.value)
        assert "\n" not in text and (match in text or re.search(match, text)), text


def bad_init(team, error, match, **arguments):
    """Check that init raises one error, with the same text on every PE, and the PEs stay together."""
    with pytest.raises(error, match=match) as caught:
        pennympi.init(team.comm, **arguments)
    assert len(set(team.gather((type(caught.value).__name__, str(caught.value))))) == 1
