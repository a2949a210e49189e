"""pennympi.simulate: it finds planted faults, blames no correct program, and its message leads to the line."""

import re
import subprocess
import sys

import numpy as np
import pytest
from collective_cases import CASES, Call
from seed import SEED
from simulator import five_programs
from simulator.planted import FAULTS, error_of, with_fault

import pennympi
from pennympi.errors import CollectiveMismatchError, PennympiError, Unsupported
from pennympi.kernels.block import Elements, lanes, load, put, store
from pennympi.simulator.faults import Deadlock, Differs, Fault, OutOfBounds, Race, Unawaited
from pennympi.simulator.schedule import PLACES


@pytest.mark.parametrize("program", five_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_a_right_program_has_no_fault(program):
    for k in range(len(PLACES)):
        pennympi.simulate(program, n_pes=3, seed=f"{SEED}/{k}")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.program}, {fault.kind}")
def test_a_planted_fault_is_found(fault):
    text, _ = error_of(with_fault(fault), seconds=20)
    assert text


def line_of(function, text):
    """The number of the line of a function that contains a text."""
    lines = [k for k, line in enumerate(open(function.__code__.co_filename), 1) if text in line]
    (line,) = [k for k in lines if k > function.__code__.co_firstlineno][:1]
    return line


def put_and_read(team):
    x, y = team.zeros(4), team.zeros(4)
    team.put(y, x, (team.me + 1) % team.n_pes)  # the put
    team.synchronize()
    return float(y[0])  # the read


def test_a_race_shows_both_lines_and_a_seed_repeats_it():
    with pytest.raises(Race) as error:
        pennympi.simulate(put_and_read, 3, 10)
    for text in ("# the put", "# the read"):
        assert f"test_simulate.py:{line_of(put_and_read, text)} (put_and_read)" in str(error.value)
    (seed,) = re.findall(r"seed='(\d+/\d+)'", " ".join(error.value.__notes__))
    with pytest.raises(Race) as again:
        pennympi.simulate(put_and_read, 3, 10, seed=seed)
    assert str(again.value) == str(error.value)


def test_the_read_of_a_peer_after_a_barrier_is_no_race():
    def program(team):
        x, y = team.full(4, float(team.me)), team.zeros(4)
        team.put(y, x, (team.me + 1) % team.n_pes)
        team.barrier()
        team.synchronize()
        return y.tolist()

    assert pennympi.simulate(program, 3, 1.0)


def two_puts_to_one_place(team):
    x, y = team.full(4, float(team.me)), team.zeros(4)
    if team.me:
        team.put(y, x, 0)
    team.barrier()


def a_wait_that_nothing_ends(team):
    words = team.signals(1)
    if team.me == 1:
        team.wait_signal(words, 3, source=0)


def a_signal_that_nobody_waits_for(team):
    x, y, words = team.zeros(4), team.zeros(4), team.signals(2)
    team.put_signal(y, x, words[1:], 1, (team.me + 1) % team.n_pes)
    team.barrier()


def different_calls(team):
    x = team.zeros(4)
    team.allreduce(x, op="max" if team.me == 1 else "sum")


def a_pe_that_leaves(team):
    if team.me:
        team.gather(1)


RUNS = []  # the PEs that have run


def another_result_in_another_schedule(team):
    RUNS.append(team.me)
    return RUNS[-2:]


def a_stream_that_does_not_wait(team):
    x, y, fast = team.zeros(4), team.zeros(4), team.stream()
    with team.stream():
        x[:] = 1
    team.put(y, x, team.me, stream=fast)


def sent_beyond(ctx, x: Elements, pe: int):
    put(ctx, x, x, 8, pe)


def a_peer_that_the_team_does_not_have(team):
    x = team.zeros(4)
    team.kernel(sent_beyond)(1, x, team.n_pes)


UNAWAITED = r"byte 8 of the array made at .*test_simulate.py:\d+ \(a_signal_that_nobody_waits_for\) on PE"
WRONG = [  # (program, error, regular expression for its text)
    (two_puts_to_one_place, Race, r"written at .* and written at"),
    (a_wait_that_nothing_ends, Deadlock, r"PE 1 in wait_signal.*to be at least 3, and it is 0"),
    (a_signal_that_nobody_waits_for, Unawaited, UNAWAITED),
    (different_calls, CollectiveMismatchError, r"sum.*max|max.*sum"),
    (a_pe_that_leaves, (Deadlock, CollectiveMismatchError), None),
    (another_result_in_another_schedule, Differs, "the result of the program on PE"),
    (a_stream_that_does_not_wait, Race, None),
    (a_peer_that_the_team_does_not_have, Fault, r"PE 3 is outside this team of 3 PEs, at .*\(sent_beyond\)"),
]


@pytest.mark.parametrize(("program", "error", "text"), WRONG, ids=[program.__name__ for program, *_ in WRONG])
def test_a_wrong_program(program, error, text):
    with pytest.raises(error, match=text):
        pennympi.simulate(program, 3, 10)


def outside(ctx, y: Elements, x: Elements, n: int):
    for i in lanes(0, n):
        store(y, i, load(x, i + 1))


@pytest.mark.parametrize("check", (True, False))
@pytest.mark.parametrize("symmetric", (True, False))
def test_an_access_outside_an_array(symmetric, check):
    def program(team):
        x = team.zeros(8) if symmetric else np.zeros(8)
        team.kernel(outside, check=check)(1, team.zeros(8), x, 8)

    assert issubclass(OutOfBounds, pennympi.OutOfBounds)
    with pytest.raises(OutOfBounds, match=r"8 bytes from byte 64 on, of the .*array .* 64 bytes, read at .*\(outside\)"):
        pennympi.simulate(program, 2, 10)


def test_what_a_program_raises_is_raised():
    def program(team):
        assert team.me != 1, "PE 1 is wrong"

    with pytest.raises(AssertionError, match="PE 1 is wrong") as error:
        pennympi.simulate(program, 2, 10)
    assert "on PE 1" in error.value.__notes__


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_every_algorithm_of_a_collective(case):
    """The calls are the team's methods, over every network on which the algorithm runs."""
    ran = set()

    def program(team):
        for turn, name in enumerate(case.table):
            call = Call("float32", "sum", team.n_pes, team.me, turn % team.n_pes, 100 * turn + 5)
            x, out = case.fresh(team.array, call)
            try:
                case.run(team, call, x, out, algorithm=name)
            except Unsupported:
                continue
            ran.add(name)
            team.synchronize()
            wanted = case.out(call)
            assert wanted is None or out.get().tobytes() == wanted.tobytes(), name

    for k in range(len(PLACES)):
        pennympi.simulate(program, 3, seed=f"{SEED}/{k}")
    assert len(ran) >= min(2, len(case.table))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="a function of a team"):
        pennympi.simulate("program.py")
    for n_pes in (0, 17, 2.0):
        with pytest.raises(ValueError, match="from 1 to 16"):
            pennympi.simulate(put_and_read, n_pes)
    with pytest.raises(Unsupported, match="once, outside"):
        pennympi.simulate(lambda team: pennympi.simulate(put_and_read), 1, 1)
    assert issubclass(Race, PennympiError)


def test_import_loads_no_simulator():
    code = "import sys, pennympi; print([name for name in sys.modules if 'simulator' in name or name == 'greenlet'])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "[]", ended
