"""A loop of the device, which ends by itself: turns of SWEEPS sweeps, of which those after the end do nothing.

    turn   sweep 0 | norms' sums | sweep 1 | norms' sums | ... | end of the turn: another one, or the loop's end

The sums, over the PEs, are a kernel of one block.  The host waits for the end of the loop, and reads all norms.
"""

from typing import Any

import numpy as np

from pennympi.kernels.in_kernel import GridBarrier, grid_barrier_words
from pennympi.kernels.sweep.norm import COPIES

from ..program.device import Readback, address, array_module
from .kernels import THREADS
from .loop_kernels import Turn, add_others, end_turn
from .loop_words import OFFSETS, SWEEPS, layout, loop_at, set_of
from .problem import Problem, checked
from .solver import Ends, SweepBySweep

LOOP_SWEEPS = {"cuda": 1000, "host": 100}  # at most in one loop on the device; norms are shown when it has ended


class DeviceLoop(SweepBySweep):
    """state: the loop's words on the device, see ``loop_words.layout``;  epoch: exchanges before the loop"""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._loop_sweeps = LOOP_SWEEPS[team.backend]
        self._layout, self.epoch = layout(self._loop_sweeps + SWEEPS), 0
        self.state = array_module(team).zeros(self._layout.itemsize // 8, "int64")
        self._readback, self._loops = Readback(team, self.state), dict[int, Any]()  # by the present field
        self._end_turn = team.kernel(end_turn, "int64")
        if team.n_pes > 1:
            memory = team.zeros(grid_barrier_words(team.n_pes, COPIES), "int64")
            self._barrier = GridBarrier(team.me, team.n_pes, COPIES, memory)
            self._add_others = team.kernel(add_others, "int64")

    def sweep(self, stream: Any, turn: Turn) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos."""
        raise NotImplementedError

    def finish_exchange(self, stream: Any) -> None:
        """Enqueue what waits for the last exchange of a loop."""

    def turn(self, stream: Any) -> None:
        """Enqueue a turn."""
        state, tol = address(self.state), self.problem.tol
        for number in range(SWEEPS):
            turn = Turn(number, state, set_of(loop_at(state), number), tol)
            self.sweep(stream, turn)
            if self.team.n_pes > 1:
                self._add_others(1, turn, self._barrier, stream=stream, threads=THREADS)
            self.fields.advance()
        self._end_turn(1, Turn(SWEEPS, state, 0, tol), stream=stream, threads=THREADS)

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        while done < stop:
            count = min(stop - done, self._loop_sweeps)
            due = [k for k in range(count) if checked(done + k, self.problem.nccheck, show)]
            if any([ends(done + k, norm) for k, norm in zip(due, self.repeat(count, due), strict=False)]):
                return True
            done += count
        return False

    def repeat(self, count: int, due: list[int]) -> list[float]:
        """Sweep ``count`` times, or up to the first norm that ends the solve.  Collective.

        due: the sweeps that have a norm.  Returns the norms.
        """
        words = np.zeros(1, self._layout)
        words["stop"] = words["valid"] = count
        words["epoch"], words["table"][0, due] = self.epoch, 1
        words["due"] = words["table"][:, :SWEEPS]
        with self.stream:
            self.state[...] = array_module(self.team).asarray(words.view("int64"))
        self._loop()(self.stream)
        self.finish_exchange(self.stream)
        self._readback.start(self.stream)
        words = self._readback.wait().view(self._layout)[0]
        self.epoch += int(words["ran"])
        if words["valid"] % 2:
            self.fields.advance()
        return words["table"][[k for k in due if k < words["valid"]]].view("float64").tolist()  # type: ignore[no-any-return]

    def _loop(self) -> Any:
        """The loop that begins with the present field."""
        current, first = self.fields.current, OFFSETS.more // 8
        if current not in self._loops:
            more = self.state[first : first + 1].view("float64")
            self._loops[current] = self.team.plan_loop(self.turn, more, 0.5, self._loop_sweeps)
        return self._loops[current]

    def free(self) -> None:
        super().free()
        self._loops.clear()
        if self.team.n_pes > 1:
            self.team.free(self._barrier.memory)
