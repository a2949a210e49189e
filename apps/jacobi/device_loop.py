"""A loop of the device, which ends by itself.  It has turns of SWEEPS sweeps; sweeps after the end do nothing.

    turn   sweep 0 | sweep 1 | ... | end of the turn: another turn, or the loop's end

The host waits for the end of the loop, and reads all norms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.device import Readback, address, array_module
from .kernels import THREADS
from .loop_kernels import SET_WORDS, Turn, end_turn
from .loop_words import OFFSETS, SETS, SWEEPS, layout, loop_at, set_of
from .problem import Problem, due_iterations
from .solver import Ends, SweepBySweep

LOOP_SWEEPS = {"cuda": 224 * SWEEPS, "host": 5 * SWEEPS}  # the most sweeps of a loop; norms are printed after it


class DeviceLoop(SweepBySweep):
    """Base of the variants in a loop of the device.

    state: the loop's words on the device, see ``loop_words.layout``
    _sums: AllReduces of the sets of words of its norms
    epoch: number of exchanges before the loop
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._loop_sweeps = LOOP_SWEEPS[team.backend]
        self._layout, self.epoch = layout(self._loop_sweeps + SWEEPS), 0
        self.state = array_module(team).zeros(self._layout.itemsize // 8, "int64")
        self._readback, self._loops = Readback(team, self.state), dict[int, Any]()  # loops by the present field
        self._end_turn = team.kernel(end_turn, "int64")
        sets = self.state[OFFSETS.sets // 8 :]
        self._set_addresses = [set_of(loop_at(address(self.state)), k) for k in range(SETS)]
        words = [sets[k * SET_WORDS : (k + 1) * SET_WORDS] for k in range(SETS)]
        self._sums = [team.plan_allreduce(words_of_set) for words_of_set in words] if team.n_pes > 1 else []

    def sum_norm(self, stream: Any, turn: Turn) -> None:
        """Enqueue the AllReduce of the words of a sweep's norm.

        A GPU's graph has it in every sweep; on a CPU this method runs in every turn, and tests whether the norm is due.
        """
        is_due = self.team.backend == "cuda" or self.state[OFFSETS.due // 8 + turn.number]
        if self._sums and turn.words and is_due:
            self._sums[turn.number % len(self._sums)](stream=stream)

    def finish_exchange(self, stream: Any) -> None:
        """Enqueue a wait for the last exchange of a loop."""

    def turn(self, stream: Any) -> None:
        """Enqueue a turn."""
        state, tol = address(self.state), self.problem.tol
        for number in range(SWEEPS):
            self.sweep(stream, Turn(number, state, self._set_addresses[number % SETS], tol, 0))
            self.fields.advance()
        self._end_turn(1, Turn(SWEEPS, state, 0, tol, 0), stream=stream, threads=THREADS)

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        while done < stop:
            count = min(stop - done, self._loop_sweeps)
            due = due_iterations(self.problem, done, done + count, show)
            norms = self.repeat(count, due - done)
            if ends(due[: len(norms)], norms):
                return True
            done += count
        return False

    def repeat(self, count: int, due: np.ndarray) -> np.ndarray:
        """Sweep ``count`` times, or until a norm ends the solve.  Returns the norms.  Collective.

        due: indices of the sweeps with a norm
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
        return words["table"][due[due < words["valid"]]].view("float64")  # type: ignore[no-any-return]

    def repeated(self, body: Callable[[Any], None], n: int) -> Callable[[Any], None]:
        with self.stream:
            more = array_module(self.team).ones(1)
        return self.team.plan_loop(body, more, 0.5, n)  # type: ignore[no-any-return]

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
