"""The watch: a thread of each process that sees how the other processes of its node fare, wherever the main thread is.

It ends the job when a PE has died, when one has been stopped for longer than the deadline, when two PEs have entered
different calls, when a device has given up and the program does not ask, and when the launcher is gone.  It neither calls
MPI nor takes a lock that the main thread may hold for long.  A PE that dies wakes one other PE at once (lifeline.py); the
rest is looked at a few times a second.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from ..compile.cache import compiling
from ..errors import CollectiveMismatchError
from . import ending, liveness
from .control import DONE, NOBODY, WAITING
from .job import Job, closing, open_jobs
from .lifeline import Lifeline, how_it_ended, lifeline_of, own_lifeline
from .process import ENDED, process_state
from .rendezvous import Meetings

_TICK_S, _DEVICE_TICK_S = 0.25, 0.1  # between two looks; with a device to look after
_LATE_S = 1.0  # a tick that is later than this: the process was suspended
_NEXT = 3  # a PE looks after so many PEs behind it
_PATIENCE_S = 0.75  # a wait of the library, which says more, ends this much earlier than the watch ends the job
_MISMATCH_S = 1.25  # the library's own meetings, and its signatures, are faster
_INTERRUPT_S = 2.0  # the main thread is interrupted by then, or the program does not want to be


class Lookout:
    """Asks a device whether one of its waits gave up, and ends the job when the main thread does not notice.

    poll:      returns the exception to raise, or None; called every 0.1 s by the watch
    interrupt: ends the waits of the device, called when Ctrl-C finds the main thread stuck
    grace_s:   how long the main thread then has to raise the exception itself
    delivered: set it to True when the main thread has raised the exception
    """

    def __init__(
        self,
        poll: Callable[[], BaseException | None],
        interrupt: Callable[[], object] = lambda: None,
        grace_s: float = 2.0,
    ):
        self.delivered = False
        self.interrupt = interrupt
        self._poll, self._grace_s, self._end_s = poll, grace_s, float("inf")
        with closing:
            _lookouts.append(self)

    def look(self, now_s: float) -> None:
        """Poll; end the job if the time of the main thread is over."""
        exc = self._poll()
        if exc is not None:
            self._end_s = min(self._end_s, now_s + self._grace_s)
            if now_s >= self._end_s and not self.delivered:
                ending.fail(exc)

    def stop(self) -> None:
        """End it; call it before the memory that ``poll`` reads is freed."""
        with closing:
            _lookouts.remove(self)


_lookouts: list[Lookout] = []


class Watch:
    """The thread.  interrupts: a pipe in which Python writes the numbers of signals, or -1"""

    def __init__(self, interrupts: int):
        self._interrupts = interrupts
        self._launcher = os.getppid()
        self._stopped = False
        self._line: Lifeline | None = None  # of the PE behind this one, in the last team if none is open
        self._line_pe = self._line_pid = 0
        self._halted_since_s: dict[int, float] = {}  # of processes that are stopped
        self._same_calls: dict[Job, tuple[int, float]] = {}  # calls of this PE, and since when
        self._differing: tuple[object, ...] = ()  # what two PEs have entered, at the last look
        self._interrupted_s = float("-inf")
        self._stuck: tuple[object, ...] = ()  # where the main thread was after an interrupt
        threading.Thread(target=self._run, name="pennympi watch", daemon=True).start()

    def stop(self) -> None:
        """From now on it reads no table."""
        with closing:
            self._stopped = True
            liveness.watch_words[liveness.TICKED_NS] = liveness.NEVER_NS

    def _run(self) -> None:
        own = own_lifeline()
        if own:
            own.hold()
        looked_s = time.monotonic()
        while True:
            tick_s = _DEVICE_TICK_S if _lookouts else _TICK_S
            ended = self._line.ended(tick_s) if self._line else False
            now_s = time.monotonic()
            if not ended and now_s - looked_s < tick_s / 2:  # nobody holds that lock
                time.sleep(tick_s)
                now_s = time.monotonic()
            with closing:
                if self._stopped:
                    break
                if ended:
                    self._see_end(self._line_pid)
                    self._see_end_between_teams()
                self._look(now_s, now_s - looked_s > tick_s + _LATE_S)
            looked_s = now_s
        if own:
            own.let_go()

    def _look(self, now_s: float, late: bool) -> None:
        now_ns = int(now_s * 1e9)
        if late:  # the others may have been suspended, too: all time counts from now
            self._halted_since_s.clear()
            self._same_calls.clear()
            liveness.watch_words[liveness.RESUMED_NS] = now_ns
        liveness.watch_words[liveness.TICKED_NS] = now_ns
        if compiling():
            liveness.show_alive(now_ns)
        if ending.n_ranks > 1 and os.getppid() != self._launcher:
            ending.end_without_launcher()
        for lookout in _lookouts:
            lookout.look(now_s)
        self._see_interrupts(now_s)
        self._see_processes(now_s)
        for job in open_jobs:
            self._see_mismatch(job, now_s)

    def _see_processes(self, now_s: float) -> None:
        behind = list(dict.fromkeys(_behind()))
        if behind and (self._line_pid != behind[0][2] or not self._line):
            _, self._line_pe, self._line_pid = behind[0]
            self._line = lifeline_of(self._line_pid)
        for job, pe, pid in behind:
            state = process_state(pid)
            if state in ENDED:
                self._see_end(pid)
            if state != "T":  # "t": a debugger holds it
                self._halted_since_s.pop(pid, None)
                continue
            halted_s = now_s - self._halted_since_s.setdefault(pid, now_s)
            if 0 < job.timeout_s < halted_s - _PATIENCE_S and job.control.state(pe) != DONE:
                _end(f"{job.control.describe(pe)}, for longer than {job.timeout_s:g} s (PENNYMPI_TIMEOUT_S)")

    def _see_end(self, pid: int) -> None:
        """End the job if a process has ended that should not have."""
        for job in open_jobs:
            control = job.control
            for pe in control.pes:
                if control.processes[pe].pid == pid and control.state(pe) != DONE:
                    how, status = how_it_ended(pid)
                    waits = control.state(pe) == WAITING or control.waits_for(pe) != NOBODY
                    _end(f"{control.named(pe)} {how} {'in' if waits else 'after'} {control.call(pe)}", status, 0)

    def _see_end_between_teams(self) -> None:
        """End the job if the PE behind this one was killed, or has left while this one waits for it in init."""
        if any(self._line_pid == pid for _, _, pid in _behind()):
            return
        how, status = how_it_ended(self._line_pid)
        if Meetings.without_table or status > 128:
            _end(f"PE {self._line_pe} (process {self._line_pid}) {how} between two teams", status, 0)

    def _see_interrupts(self, now_s: float) -> None:
        """After Ctrl-C: if the main thread does not move, because a kernel waits, end the waits of kernels."""
        try:
            signals = os.read(self._interrupts, 64) if self._interrupts >= 0 else b""
        except BlockingIOError:
            signals = b""
        if signal.SIGINT in signals and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._interrupted_s = now_s
        waiting = any(job.control.waits_for(job.me) != NOBODY for job in open_jobs)
        stuck = _main_thread_at() if waiting and now_s - self._interrupted_s < _INTERRUPT_S else ()
        if stuck and stuck == self._stuck:
            liveness.watch_words[liveness.ABORT] = 1
            for lookout in _lookouts:
                lookout.interrupt()
        elif not waiting:
            liveness.watch_words[liveness.ABORT] = 0
        self._stuck = stuck

    def _see_mismatch(self, job: Job, now_s: float) -> None:
        """End the job if the last call of a PE is not the one that this PE, which makes no more, made in its turn."""
        control = job.control
        calls = control.calls(job.me)
        before, since_s = self._same_calls.setdefault(job, (calls, now_s))
        if calls != before:
            self._same_calls[job] = calls, now_s
        elif calls and now_s - since_s > _MISMATCH_S:
            for pe in control.pes:
                other, own = control.call(pe), control.own_call(control.calls(pe))
                if own and other != own and "..." not in (own[:3], other[:3]):
                    seen = job, pe, own, other
                    if self._differing == seen:  # at two looks: no PE was between two calls
                        ending.fail(
                            CollectiveMismatchError(
                                f"PE {job.me} has entered {own}, and PE {pe} {other}: every PE must make the same calls, "
                                "in the same order"
                            )
                        )
                    self._differing = seen
                    return


def _behind() -> Iterator[tuple[Job, int, int]]:
    """(job, PE, process) of the next few PEs behind this one, in each job."""
    for job in open_jobs:
        pes, local = job.control.pes, job.control.local
        for step in range(1, min(_NEXT + 1, len(pes))):
            pe = pes[(local + step) % len(pes)]
            yield job, pe, job.control.processes[pe].pid


def _main_thread_at() -> tuple[object, ...]:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return (id(frame), frame.f_lasti) if frame else ()


def _end(why: str, status: int = 1, read_s: float = ending.READ_S) -> NoReturn:
    ending.end(lambda: ending.say(f"pennympi: {why}; the job ends"), status, read_s)
