"""Calls of ``pennympi.init`` that must fail."""

import pytest

import pennympi


def refused(team, error, match, **arguments):
    """init raises one error, with the same text on every PE, and the PEs stay together."""
    with pytest.raises(error, match=match) as caught:
        pennympi.init(team.comm, **arguments)
    assert len(set(team.gather((type(caught.value).__name__, str(caught.value))))) == 1
