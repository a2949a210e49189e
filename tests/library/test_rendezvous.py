"""Meeting the other PEs before a deadline: all come, one is late, one is missing, one shows that it lives.

As in test_control.py, all PEs assert the same, so that none waits for one that failed. Times are of CLOCK_MONOTONIC,
which the processes of the node share.
"""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.errors import CollectiveMismatchError, PeerTimeout
from pennympi.host import remote
from pennympi.job import beats, liveness, rendezvous
from pennympi.job.control import NO_PE, Control
from pennympi.job.process import this_process
from pennympi.job.rendezvous import ARRIVED, LEFT, NUMBERS, Deadline, Meetings
from pennympi.topology import between_nodes

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()
LAST = N_PES - 1  # the PE that is late, or missing
LONG_S, SHORT_S = 100.0, 0.5  # a deadline that is not meant to pass, and one that is
two_or_more = pytest.mark.mpi(min_size=2)


@contextmanager
def job(with_table=True):
    """(the meetings of a communicator of these tests alone, its node's table)."""
    comm = WORLD.Dup()
    meetings, control = Meetings(comm, LONG_S), None
    if with_table:
        meetings.processes = comm.allgather(this_process())
        meetings.control = control = Control(ME, meetings.processes, comm.allgather)
    try:
        yield meetings, control
    finally:
        if control:
            control.close()
        comm.Free()


def seen(value):
    """Every PE's value, on every PE."""
    return WORLD.allgather(value)


def take_messages(comm, pes):
    """Take the messages of PEs that waited for this one, so that the communicator can be freed."""
    for pe in pes:
        comm.Recv(bytearray(1 << 16), pe, ARRIVED)


def give_up_without_the_last(meetings, what, timeout_s, away=lambda: None):
    """What each PE raised, and when it did, where the last one never comes to meet the others but calls ``away``.

    The last PE then takes the messages of those who waited for it, so that the communicator can be freed.
    """
    error, end_ns = None, 0
    meetings.timeout_s = timeout_s
    WORLD.Barrier()  # all but the last come within the deadline
    if ME == LAST:
        away()
        take_messages(meetings.comm, range(LAST))
    else:
        try:
            meetings.gather(None, what)
        except PeerTimeout as raised:
            error, end_ns = raised, time.monotonic_ns()
    WORLD.Barrier()
    return seen(error and (error.me, error.peer, error.collective, error.timeout_s, str(error))), seen(end_ns)


@two_or_more
def test_nobody_goes_on_before_the_last_has_come():
    with job() as (meetings, control):
        waiting = None
        if ME == LAST:
            end = time.monotonic() + LONG_S
            while any(control.waits_for(pe) == NO_PE for pe in range(LAST)) and time.monotonic() < end:
                time.sleep(0.01)
            waiting = [control.call(pe) for pe in range(LAST)]
            time.sleep(SHORT_S)
        came_ns = time.monotonic_ns()
        meetings.gather(None, "barrier")
        went_ns = time.monotonic_ns()
        assert seen(waiting)[LAST] == ["barrier (call 1)"] * LAST
        assert min(seen(went_ns)) >= seen(came_ns)[LAST]


@two_or_more
def test_a_missing_pe_is_named_when_the_deadline_has_passed():
    with job(with_table=False) as (meetings, _):
        start_ns = time.monotonic_ns()  # the deadline begins later
        errors, ends_ns = give_up_without_the_last(meetings, "finalize", SHORT_S)
        words = f"waited {SHORT_S} s for PE {LAST} in finalize: PE {LAST} has not come."
        for pe, (me, peer, what, timeout_s, text) in enumerate(errors[:LAST]):
            assert (me, peer, what, timeout_s) == (pe, LAST, "finalize", SHORT_S)
            assert f"PE {pe} {words}" in text
        assert errors[LAST] is None
        starts_ns = seen(start_ns)
        assert all(ends_ns[pe] - starts_ns[pe] >= 1e9 * SHORT_S for pe in range(LAST))


@two_or_more
def test_a_deadline_counts_from_the_last_sign_of_life():
    """The last PE shows for longer than the deadline that it lives, on another team, say, and then no more."""
    timeout_s, shown_ns = 1.0, 0

    def show_life():
        nonlocal shown_ns
        end = time.monotonic() + 1.5 * timeout_s
        while time.monotonic() < end:
            shown_ns = time.monotonic_ns()
            liveness.show_alive(shown_ns)
            time.sleep(0.02)

    with job() as (meetings, control):
        errors, ends_ns = give_up_without_the_last(meetings, "barrier", timeout_s, show_life)
        last_sign_ns = seen(shown_ns)[LAST]
        assert all(errors[:LAST])
        assert all(end_ns - last_sign_ns >= 1e9 * timeout_s for end_ns in ends_ns[:LAST])
        lives = seen(control.last_alive_ns(ME))
        assert all(life == last_sign_ns for life in lives[:LAST]), "those who wait show the life that they wait for"


@pytest.mark.parametrize("nbytes", [1 << 10, 1 << 20, 100 << 20])
def test_what_the_pes_bring_has_any_size(nbytes):
    """A short message, a long one, and 100 MB of PE 0."""
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
        for bad, kind, why in ((lambda: None, TypeError, "can't be pickled"), (bytes(2000), ValueError, "are the most")):
            text = ""
            try:
                meetings.gather(bad if who == "all" or ME == LAST else "good", "gather")
            except kind as error:
                text = str(error)
            assert all(
                f"what PE {LAST if who == 'one' else 0} brings to gather" in one and why in one for one in seen(text)
            )
            assert seen(meetings.gather(ME, "gather")) == [list(range(N_PES))] * N_PES, "the next one is right"


def result(meetings, *whats):
    """On every PE: (the number of the first meeting that raises, its error) of each PE."""
    for number, what in enumerate(whats):
        try:
            meetings.gather(None, what)
        except CollectiveMismatchError as error:
            return seen((number, str(error)))
    return seen((len(whats), ""))


@two_or_more
@pytest.mark.parametrize("with_table", [True, False])
def test_pes_that_meet_for_different_things_are_told_so(with_table):
    """At the first meeting that differs; and after the error the PEs can meet again."""
    with job(with_table) as (meetings, _):
        output = result(meetings, "gather", "finalize" if ME == LAST else "gather")
        call = 2 if with_table else 1
        assert {number for number, _ in output} == {1}
        assert all(f"PE {LAST} in finalize (call {call})" in text for _, text in output), output
        assert all(f"PE {LAST - 1} in gather (call {call})" in text for _, text in output), output
        assert result(meetings, "gather", "gather", "finalize") == [(3, "")] * N_PES


@two_or_more
@pytest.mark.parametrize(
    ("of_last", "words"),
    [
        (["b", "a"], ["now PE 0", "in meet (call 3)", "call 1 differs: PE 0", f"PE {LAST} b"]),  # another order
        (["a", "B"], ["call 2 differs: PE 0", f"b; PE {LAST} B"]),  # another root, say
        (["a"], [f"PE {LAST} in meet (call 2)", "in meet (call 3)"]),  # a call too few
        (["a", *"bcdefghijklm"], [f"PE {LAST} in meet (call 14)", "in meet (call 3)"]),  # many too many
    ],
)
def test_other_calls_before_a_meeting_are_told_there(of_last, words):
    with job() as (meetings, control):
        for text in of_last if ME == LAST else ["a", "b"]:
            control.enter(text)
        output = result(meetings, "meet")
        assert all(number == 0 and all(word in text for word in words) for number, text in output), output
        for _ in range(5000):  # more than are compared by name
            control.enter("a")
        assert result(meetings, "meet", "meet") == [(2, "")] * N_PES


def test_no_tag_has_two_meanings():
    of_meetings = range(ARRIVED, ARRIVED + NUMBERS)
    others = [LEFT, beats.TAG, between_nodes.TAG, remote.TAG, remote.LARGE_TAG, remote.GET_TAG]
    assert len({*of_meetings, *others}) == len(of_meetings) + len(others) and max(*of_meetings, *others) <= 32767


class Clock:
    """Times for a Deadline, in seconds, and a table in which PEs show their lives."""

    def __init__(self, monkeypatch):
        self.now_s, self.lives_s, self.shown_s, self.missing = 0.0, {}, [], []
        monkeypatch.setattr(rendezvous, "time", SimpleNamespace(monotonic_ns=lambda: round(1e9 * self.now_s)))
        self.monitor_words = [liveness.NEVER_NS, 0]
        monkeypatch.setattr(liveness, "monitor_words", self.monitor_words)
        monkeypatch.setattr(liveness, "show_alive", lambda time_ns: self.shown_s.append(time_ns / 1e9))

    def last_alive_ns(self, pe):
        return round(1e9 * self.lives_s[pe])

    def passed(self, deadline, now_s):
        """At another time; a Clock stands for the table as well."""
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


def test_the_time_in_which_this_process_was_suspended_does_not_count(monkeypatch):
    """The monitor knows when it ticked last, and when it went on."""
    clock = Clock(monkeypatch)
    deadline = Deadline(None, 10)
    clock.monitor_words[liveness.TICKED_NS] = 0
    assert not clock.passed(deadline, 100), "the monitor has not ticked for a hundred seconds"
    clock.monitor_words[liveness.TICKED_NS], clock.monitor_words[liveness.RESUMED_NS] = 100 * 10**9, 95 * 10**9
    assert [clock.passed(deadline, now_s) for now_s in (100.1,)] == [False]
    clock.monitor_words[liveness.TICKED_NS] = 106 * 10**9
    assert clock.passed(deadline, 106)
