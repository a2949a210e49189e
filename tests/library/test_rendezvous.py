"""Meeting the other PEs before a deadline: all come, one is late, one is missing, one shows that it lives.

As in test_control.py, all PEs assert the same, so that none waits for one that failed. Times are of CLOCK_MONOTONIC,
which the processes of the node share.
"""

import time
from contextlib import contextmanager
from itertools import islice
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.errors import PeerTimeout
from pennympi.job import liveness, rendezvous
from pennympi.job.control import COMPUTING, WAITING, Control
from pennympi.job.rendezvous import ARRIVED, LEFT, Deadline, PolledBarrier, gather_checked, poll_times

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()
LAST = N_PES - 1  # the PE that is late, or missing
LONG_S, SHORT_S = 100.0, 0.5  # a deadline that is not meant to pass, and one that is
two_or_more = pytest.mark.mpi(min_size=2)


@contextmanager
def job(with_table=True):
    """(a communicator of these tests alone, its node's table)."""
    comm = WORLD.Dup()
    control = Control(comm) if with_table else None
    try:
        yield comm, control
    finally:
        if control:
            control.close()
        comm.Free()


def seen(value):
    """Every PE's value, on every PE."""
    return WORLD.allgather(value)


def give_up_without_the_last(comm, control, what, timeout_s, away=lambda: None):
    """What each PE raised, and when it did, where the last one never comes to meet the others but calls ``away``.

    The last PE then takes the messages of those who waited for it, so that the communicator can be freed.
    """
    error, end_ns = None, 0
    WORLD.Barrier()  # all but the last come within the deadline
    if ME == LAST:
        away()
        for pe in range(LAST):
            comm.Recv((None, 0, MPI.BYTE), pe, ARRIVED)
    else:
        try:
            rendezvous.rendezvous(comm, control, what, timeout_s)
        except PeerTimeout as raised:
            error, end_ns = raised, time.monotonic_ns()
    WORLD.Barrier()
    return seen(error and (error.me, error.peer, error.collective, error.timeout_s, str(error))), seen(end_ns)


def test_everybody_comes():
    with job() as (comm, control):
        start_ns = time.monotonic_ns()
        for _ in range(20):
            rendezvous.rendezvous(comm, control, "barrier", LONG_S)
        assert all(seen(control.last_alive_ns(ME) >= start_ns or N_PES == 1)), "a PE in a meeting shows that it is alive"
        met = control.call(ME), control.state(ME)
        assert seen(met) == [("barrier (call 20)" if N_PES > 1 else "no call yet", COMPUTING)] * N_PES


def test_one_pe_alone_waits_for_nobody():
    control = SimpleNamespace()  # is not asked anything
    rendezvous.rendezvous(MPI.COMM_SELF, control, "barrier", 0.001)
    assert gather_checked(MPI.COMM_SELF, control, "mine", "gather", 0.001) == ["mine"]


@two_or_more
def test_nobody_goes_on_before_the_last_has_come():
    with job() as (comm, control):
        waiting = None
        if ME == LAST:
            end = time.monotonic() + LONG_S
            while any(control.state(pe) != WAITING for pe in range(LAST)) and time.monotonic() < end:
                time.sleep(0.01)
            waiting = [control.call(pe) for pe in range(LAST)]
            time.sleep(SHORT_S)
        came_ns = time.monotonic_ns()
        rendezvous.rendezvous(comm, control, "barrier", LONG_S)
        went_ns = time.monotonic_ns()
        assert seen(waiting)[LAST] == ["barrier (call 1)"] * LAST
        assert min(seen(went_ns)) >= seen(came_ns)[LAST]
        assert seen(control.state(ME)) == [COMPUTING] * N_PES


@two_or_more
def test_a_missing_pe_is_named_when_the_deadline_has_passed():
    with job(with_table=False) as (comm, _):
        start_ns = time.monotonic_ns()  # the deadline begins later
        errors, ends_ns = give_up_without_the_last(comm, None, "finalize", SHORT_S)
        words = f"waited {SHORT_S} s for PE {LAST} in finalize: PE {LAST} has not come."
        for pe, (me, peer, what, timeout_s, text) in enumerate(errors[:LAST]):
            assert (me, peer, what, timeout_s) == (pe, LAST, "finalize", SHORT_S)
            assert f"PE {pe} {words}" in text
        assert errors[LAST] is None
        starts_ns = seen(start_ns)
        assert all(ends_ns[pe] - starts_ns[pe] >= 1e9 * SHORT_S for pe in range(LAST))


@two_or_more
def test_the_error_says_what_a_missing_pe_is_doing():
    with job() as (comm, control):
        if ME == LAST:
            control.enter("put")
        WORLD.Barrier()
        errors, _ = give_up_without_the_last(comm, control, "barrier", SHORT_S)
        texts = [error[-1] for error in errors[:LAST]]
        assert all(f"for PE {LAST} in barrier: PE {LAST} (process " in text for text in texts)
        assert all(") last entered put (call 1)." in text for text in texts)
        assert seen(control.state(ME)) == [WAITING] * LAST + [COMPUTING]


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

    with job() as (comm, control):
        errors, ends_ns = give_up_without_the_last(comm, control, "barrier", timeout_s, show_life)
        last_sign_ns = seen(shown_ns)[LAST]
        assert all(errors[:LAST])
        assert all(end_ns - last_sign_ns >= 1e9 * timeout_s for end_ns in ends_ns[:LAST])
        lives = seen(control.last_alive_ns(ME))
        assert all(life == last_sign_ns for life in lives[:LAST]), "those who wait show the life that they wait for"


@pytest.mark.mpi(min_size=3)
def test_missing_pes_are_all_named_in_order():
    """Only PE 1 comes."""
    with job(with_table=False) as (comm, _):
        error = None
        WORLD.Barrier()
        if ME == 1:
            try:
                rendezvous.rendezvous(comm, None, "barrier", SHORT_S)
            except PeerTimeout as raised:
                error = raised
        else:
            comm.Recv((None, 0, MPI.BYTE), 1, ARRIVED)
        peer, text = seen(error and (error.peer, str(error)))[1]
        absent = [pe for pe in range(N_PES) if pe != 1]
        assert peer == 0 and f": PE {', '.join(map(str, absent))} has not come" in text
        assert (f"{len(absent)} PEs in all are missing" in text) is (len(absent) > 4)


def test_the_error_stays_short_however_many_are_missing():
    control = SimpleNamespace(describe="<{}>".format)
    assert rendezvous._describe([3, 5], control) == ": <3>; <5>."
    assert rendezvous._describe(list(range(4)), control) == ": <0>; <1>; <2>; <3>."
    assert rendezvous._describe(list(range(5)), control).endswith("; <3>; 5 PEs in all are missing.")
    assert rendezvous._describe(list(range(9)), control) == ": <0>; <1>; <2>; <3>; 9 PEs in all are missing."
    sixteen = ", ".join(map(str, range(16)))
    assert rendezvous._describe(list(range(40)), None) == f": PE {sixteen} has not come; 40 PEs in all are missing."


def test_everybody_s_object_comes_in_the_order_of_the_pes():
    with job() as (comm, control):
        given = {"pe": ME, "offsets": list(range(ME))}
        got = gather_checked(comm, control, given, "gather", LONG_S)
        assert seen(got) == [[{"pe": pe, "offsets": list(range(pe))} for pe in range(N_PES)]] * N_PES


@two_or_more
def test_pes_that_gather_under_unequal_names_meet_all_the_same():
    """The name is for messages alone: each PE is shown with its own."""
    with job() as (comm, control):
        names = [f"gather of PE {pe}" for pe in range(N_PES)]
        got = gather_checked(comm, control, ME, names[ME], LONG_S)
        assert seen(got) == [list(range(N_PES))] * N_PES
        calls = [control.call(pe) for pe in range(N_PES)]
        assert seen(calls) == [[f"{name} (call 1)" for name in names]] * N_PES


@two_or_more
def test_a_gather_without_one_pe_is_given_up_before_mpi_is_asked():
    with job() as (comm, control):
        gathered = []

        class Watched:
            """The communicator, which notes whether the objects were gathered."""

            def __getattr__(self, name):
                if name == "allgather":
                    gathered.append(name)
                return getattr(comm, name)

        error = None
        WORLD.Barrier()
        if ME == LAST:
            for pe in range(LAST):
                comm.Recv((None, 0, MPI.BYTE), pe, ARRIVED)
        else:
            try:
                gather_checked(Watched(), control, ME, "gather", SHORT_S)
            except PeerTimeout as raised:
                error = raised
        found = seen((error and (error.peer, error.collective), gathered))
        assert found == [((LAST, "gather"), [])] * LAST + [(None, [])]


@two_or_more
def test_meetings_of_one_kind_are_not_taken_for_another():
    """Who has left the program has not come to a collective."""
    with job(with_table=False) as (comm, _):
        arrived = None if ME == LAST else PolledBarrier(comm)
        left = PolledBarrier(comm, LEFT)
        for _ in poll_times():
            if left.complete():
                break
        still = None if arrived is None else (arrived.complete(), LAST in arrived.absent())
        complete = seen((left.complete(), left.absent(), still))
        assert complete == [(True, [], (False, True))] * LAST + [(True, [], None)]
        arrived = arrived or PolledBarrier(comm)
        for _ in poll_times():
            if arrived.complete():
                break
        assert seen(arrived.absent()) == [[]] * N_PES


@two_or_more
def test_a_meeting_that_was_given_up_takes_no_message_of_the_next():
    """Its receives are cancelled: what comes late is for whoever meets again."""
    with job(with_table=False) as (comm, _):
        errors, _ = give_up_without_the_last(comm, None, "barrier", SHORT_S)
        for _ in range(3):
            rendezvous.rendezvous(comm, None, "barrier", LONG_S)
        assert all(errors[:LAST])
        assert seen("met") == ["met"] * N_PES


class Clock:
    """Times for a Deadline, in seconds, and a table in which PEs show their lives."""

    def __init__(self, monkeypatch):
        self.now_s, self.lives_s, self.shown_s, self.missing = 0.0, {}, [], []
        monkeypatch.setattr(rendezvous, "time", SimpleNamespace(monotonic_ns=lambda: round(1e9 * self.now_s)))
        show = SimpleNamespace(show_alive=lambda time_ns: self.shown_s.append(time_ns / 1e9))
        monkeypatch.setattr(rendezvous, "liveness", show)

    def last_alive_ns(self, pe):
        return round(1e9 * self.lives_s[pe])

    def absent(self):
        return self.missing

    def passed(self, deadline, now_s):
        """At another time; a Clock stands for the table and for the meeting as well."""
        self.now_s = now_s
        return deadline.passed(self)


def test_a_deadline_passes_once_and_stays_so(monkeypatch):
    clock = Clock(monkeypatch)
    deadline = Deadline(None, 10)
    assert [clock.passed(deadline, now_s) for now_s in (1, 9.9, 10, 10.1, 20)] == [False, False, False, True, True]
    assert clock.shown_s == []


def test_a_deadline_of_zero_never_passes(monkeypatch):
    clock = Clock(monkeypatch)
    deadline = Deadline(clock, 0)
    assert [clock.passed(deadline, now_s) for now_s in (1, 1e9)] == [False, False]


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
    assert clock.passed(deadline, 16.2), "what counted once still counts when nobody is missing"
    assert clock.shown_s == [3, 3, 5, 5, 6, 6]


def test_a_life_before_the_meeting_began_does_not_count(monkeypatch):
    clock = Clock(monkeypatch)
    clock.now_s, clock.missing, clock.lives_s = 100.0, [1], {1: 20.0}
    deadline = Deadline(clock, 10)
    assert [clock.passed(deadline, now_s) for now_s in (109.9, 110.1)] == [False, True]


def test_lives_are_looked_at_now_and_then(monkeypatch):
    """Every 50 ms, or four times in a shorter deadline."""
    clock = Clock(monkeypatch)
    clock.missing, clock.lives_s = [1], {1: 0.0}
    for timeout_s, looks in ((10.0, 20), (0.04, 100)):
        deadline, start_s = Deadline(clock, timeout_s), clock.now_s
        clock.shown_s.clear()
        for ms in range(1001):
            clock.passed(deadline, start_s + ms / 1000)
        assert len(clock.shown_s) == looks


def test_pauses_sleep_longer_and_longer_up_to_a_millisecond(monkeypatch):
    now_s, naps_s = 0.0, []

    def sleep(nap_s):
        nonlocal now_s
        naps_s.append(nap_s)
        now_s += nap_s + 1e-5

    monkeypatch.setattr(rendezvous, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=sleep))
    passed_s = list(islice(poll_times(), 1000))
    assert passed_s[0] == 0 and passed_s == sorted(passed_s)
    assert naps_s == sorted(naps_s) and max(naps_s) == 1e-3
    busy = naps_s.count(0)
    assert 0.002 <= passed_s[busy] <= 0.0021, "for two milliseconds the core is only yielded"
    assert naps_s[busy : busy + 3] == [2e-5, 4e-5, 8e-5]
