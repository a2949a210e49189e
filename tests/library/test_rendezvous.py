"""Meetings of PEs with a deadline: objects that they bring, calls that differ, and signs of life of a late PE.

As in test_control.py, all PEs assert the same, so that no PE waits for a PE that failed.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.errors import CollectiveMismatchError
from pennympi.host.device import remote
from pennympi.job import beats, liveness, rendezvous
from pennympi.job.control import Control
from pennympi.job.process import this_process
from pennympi.job.rendezvous import ARRIVED, LEFT, N_TAGS, Deadline, Meetings
from pennympi.topology import between_nodes

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()
LAST = N_PES - 1


@contextmanager
def job():
    """(the meetings of a communicator of these tests, the table of its node)."""
    comm = WORLD.Dup()
    meetings = Meetings(comm, 100.0)
    meetings.processes = comm.allgather(this_process())
    meetings.control = control = Control(ME, meetings.processes, comm.allgather)
    try:
        yield meetings, control
    finally:
        control.close()
        comm.Free()


def seen(value):
    """The values of all PEs, on every PE."""
    return WORLD.allgather(value)


@pytest.mark.parametrize("nbytes", [1 << 10, 1 << 20, 100 << 20])
def test_what_the_pes_bring_has_any_size(nbytes):
    """A short message, a long message, and 100 MB of PE 0."""
    with job() as (meetings, _):
        nbytes = nbytes if ME == 0 or nbytes < 100 << 20 else ME
        got = meetings.gather(bytes([ME % 256]) * nbytes, "gather")
        found = [(len(one), one[:1], one[-1:]) for one in got]
        sizes = seen(nbytes)
    assert seen(found) == [[(sizes[pe], *2 * [bytes([pe] * min(1, sizes[pe]))]) for pe in range(N_PES)]] * N_PES


@pytest.mark.parametrize("who", ["one", "all"])
def test_what_cannot_be_gathered_is_an_error_on_every_pe(who, monkeypatch):
    monkeypatch.setattr(rendezvous, "MOST_BYTES", 1000)
    with job() as (meetings, _):
        for bad, kind, why in ((lambda: None, TypeError, "can't be pickled"), (bytes(2000), ValueError, "at most")):
            text = ""
            try:
                meetings.gather(bad if who == "all" or ME == LAST else "good", "gather")
            except kind as error:
                text = str(error)
            assert all(
                f"the object of PE {LAST if who == 'one' else 0} for gather" in one and why in one for one in seen(text)
            )
            assert seen(meetings.gather(ME, "gather")) == [list(range(N_PES))] * N_PES, "the next one is right"


def result(meetings, *whats):
    """On every PE, for each PE: (number of the first meeting that raises, its error)."""
    for number, what in enumerate(whats):
        try:
            meetings.gather(None, what)
        except CollectiveMismatchError as error:
            return seen((number, str(error)))
    return seen((len(whats), ""))


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize(
    ("of_last", "words"),
    [
        (["b", "a"], ["now PE 0", "in meet (call 3)", "call 1 differs: PE 0", f"PE {LAST} b"]),  # different orders
        (["a", "B"], ["call 2 differs: PE 0", f"b; PE {LAST} B"]),  # such as different roots
        (["a"], [f"PE {LAST} in meet (call 2)", "in meet (call 3)"]),  # a missing call
        (["a", *"bcdefghijklm"], [f"PE {LAST} in meet (call 14)", "in meet (call 3)"]),  # many additional calls
    ],
)
def test_other_calls_before_a_meeting_are_told_there(of_last, words):
    with job() as (meetings, control):
        for text in of_last if ME == LAST else ["a", "b"]:
            control.enter(text)
        output = result(meetings, "meet")
        assert all(number == 0 and all(word in text for word in words) for number, text in output), output
        for _ in range(5000):  # more than are compared by their texts
            control.enter("a")
        assert result(meetings, "meet", "meet") == [(2, "")] * N_PES


def test_no_tag_has_two_meanings():
    of_meetings = range(ARRIVED, ARRIVED + N_TAGS)
    others = [LEFT, beats.TAG, between_nodes.TAG, remote.TAG, remote.LARGE_TAG, remote.GET_TAG]
    assert len({*of_meetings, *others}) == len(of_meetings) + len(others) and max(*of_meetings, *others) <= 32767


class Clock:
    """Times for a Deadline in seconds, and a table in which PEs show signs of life."""

    def __init__(self, monkeypatch):
        self.now_s, self.lives_s, self.shown_s, self.missing = 0.0, {}, [], []
        monkeypatch.setattr(rendezvous, "time", SimpleNamespace(monotonic_ns=lambda: round(1e9 * self.now_s)))
        monkeypatch.setattr(liveness, "monitor_words", [liveness.NEVER_NS, 0])
        monkeypatch.setattr(liveness, "show_alive", lambda time_ns: self.shown_s.append(time_ns / 1e9))

    def last_alive_ns(self, pe):
        return round(1e9 * self.lives_s[pe])

    def passed(self, deadline, now_s):
        """Set the time; a Clock replaces the table as well."""
        self.now_s = now_s
        return deadline.passed(self.missing)


def test_a_deadline_counts_from_the_life_of_the_most_silent(monkeypatch):
    clock = Clock(monkeypatch)
    clock.missing, clock.lives_s = [1, 2], {1: 5.0, 2: 3.0}
    deadline = Deadline(clock, 10)
    assert [clock.passed(deadline, now_s) for now_s in (12.9, 13.1)] == [False, True]
    assert clock.shown_s == [3, 3]
    clock.lives_s[2] = 6
    assert [clock.passed(deadline, now_s) for now_s in (14.9, 15.1)] == [False, True]
    clock.missing = [2]
    assert [clock.passed(deadline, now_s) for now_s in (15.9, 16.1)] == [False, True]
    clock.missing = []
    assert clock.passed(deadline, 16.2), "what counted once still counts when no PE is missing"
    assert clock.shown_s == [3, 3, 5, 5, 6, 6]
