"""Whatever happens to one rank, the job ends: in time, with a failure, with one message, and without leftovers.

Two jobs run at once, as soon as the first test asks for its job.  tests/soak has all faults at all places.
"""

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from launch import TRACEBACK, launch, run_program
from seed import SEED
from settled import settled

LONG_S, SHORT_S = 20, 2.0  # deadlines in s: one that should not pass, and one that should
BUSY_S = 3.0  # time that other work on the cores may take
choose = random.Random(f"{SEED} failures")
EXIT = f"struck {choose.choice(('waiting', 'init', 'empty'))} {choose.choice(('exit0', 'exit3'))} 1"
STOPPED_PLACE = choose.choice(("between", "gather", "empty"))  # in MPI, in a meeting, between two meetings
RING, ONE_SHOT = (f"allreduce of 240 float32, sum, by {name}" for name in ("ring", "one_shot"))
MIXED = (
    r"CollectiveMismatchError: PE \d is in {0}; PE \d sent for {1}: every PE must|PE \d is in {1}; PE \d sent for {0}: "
)
LEFT = r"\npennympi: PE 1 left the program while others wait for it: PE .*; the job ends\n"
STOPPED = r"PeerTimeout: PE (.|\n)*\npennympi: PE 3 \(process \d+\) is stopped after allreduce of 100 float32, sum, by "
GAVE_UP = r"in main\n(.|\n)*PeerTimeout: PE (.|\n)* ended the job"
SET_UP = rf"PeerTimeout: PE (.|\n)*{RING}(.|\n)*PE 1 \(process \d+\) .*last entered .* \(call \d+\)"

# (PEs, program with arguments, deadline, longest time from the fault to the end, regular expression for the output)
FAILS = [
    # an exception, in a thread, on all PEs, and in one of two teams
    (2, "struck collective thread 0", LONG_S, 1, r"ZeroDivisionError(.|\n)*pennympi: PE 0 of 2 ended the job"),
    (4, "small all_raise", LONG_S, 1, r"ValueError: broken on PE"),
    (4, "small halves", LONG_S, 1, r"ValueError: broken in one half"),
    # a rank that leaves
    (choose.choice((2, 4)), EXIT, LONG_S, 1, LEFT),
    # processes that one launcher has started later, and those of two launchers
    (1, "connected spawned_one leaves 1", LONG_S, 1, LEFT),
    (1, "connected spawned raises 2", LONG_S, 1, "ValueError: broken(.|\n)*pennympi: PE 2 of 3 ended the job"),
    (2, "connected accepted raises 0", LONG_S, 2, "ValueError: broken(.|\n)*pennympi: PE 0 of 4 ended the job"),
    (2, "connected accepted leaves 1", LONG_S, 2, LEFT),
    # a rank that is interrupted in a kernel
    (2, "small interrupted", LONG_S, 1, r"interrupted PE 0 while it waited for PE 1 in allre(.|\n)*Interrupt\n"),
    # a rank that is stopped: in a kernel, and elsewhere
    (4, "struck collective SIGSTOP 3", SHORT_S, SHORT_S, STOPPED),
    (4, f"struck {STOPPED_PLACE} SIGSTOP 2", SHORT_S, SHORT_S, "PeerTimeout: PE .* (is stopped|has not)"),
    # a rank that does not come
    (2, "small skewed asleep", 1, 1, r"PeerTimeout: PE 0 waited 1 s for PE 1 in allreduce \(ring\)"),
    (2, "small alone_in_sweeps resident", 1, 1, "PeerTimeout: PE 0 .* for PE 1 in "),
    (4, "small uninvited", SHORT_S, SHORT_S, "PeerTimeout: PE . .* for PE 1 in init: PE 1 has not come"),
    (2, "small half_ended", SHORT_S, SHORT_S, "PeerTimeout: PE 0 .* for PE 1 in finalize: PE 1 is on another node"),
    # a device that gave up while the main thread waits in MPI, also if other threads may not call MPI
    (2, "stuck", LONG_S, 1, GAVE_UP),
    (4, "stuck serialized", LONG_S, 3, GAVE_UP),
    (2, "stuck serialized nodes", LONG_S, 1, "Unsupported: between nodes a thread of pennympi calls MPI, but MPI was "),
    # PEs that make different calls: a message of one call reaches another call
    (2, "mismatched count", LONG_S, 1, MIXED.format(RING, RING.replace("240", "232"))),
    (2, "mismatched exchange", LONG_S, 1, MIXED.format(*(f"exchange of {n} float32 between .*" for n in (10, 11)))),
    (3, "mismatched another_count", LONG_S, 1, "MismatchError: in all_to_allv .*PE 0 sends 5 elements .* expects 6"),
    (2, "mismatched no_such_place", LONG_S, 1, "CountError: .* of out of PE 1 has 5 elements from element -230584300"),
    # the calls use different memory, or one of the calls is set up first
    (2, "mismatched algorithm", 3, 3, f"PeerTimeout: PE (.|\n)*({RING}(.|\n)*{ONE_SHOT}|{ONE_SHOT}(.|\n)*{RING})"),
    (2, "mismatched set_up", 3, 3, SET_UP),
]
WELL = {
    "the job is suspended for two deadlines": (4, "small suspended", SHORT_S),
    "a PE compiles": (2, "small compiling", 1),
    "a PE is busy on another team, and most wait for a PE that waits": (4, "small skewed busy", 1),
    "a sign of life comes late": (2, "small late_sign", LONG_S),
    "a master and its workers": (1, "connected spawned none 0", LONG_S),
    "two jobs that meet": (2, "connected accepted none 0", LONG_S),
    "a PE ends late": (2, f"small forgetful 0 {0.7 * SHORT_S}", SHORT_S),
}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile the kernels of the jobs, since their deadlines are too short for it on busy cores; it never finalizes."""
    assert run_program(2, "mismatched", "nothing", timeout_s=100).rc == 0
    return run_program(4, "small", "forgetful", timeout_s=100, limit_s=120)


def job(n_pes, words, timeout_s, **options):
    """A mark with a job of support/programs/, whose end is the fixture ``ended``.  words: the program and its
    arguments"""
    return pytest.mark.job(n_pes, words, {"timeout_s": timeout_s, **options})


@pytest.fixture(scope="module")
def started(request):
    """{id of a test of this file: its job, as a future}"""
    with ThreadPoolExecutor(2) as pool:
        jobs = {}
        for item in request.session.items:
            if item.module is request.module and (mark := item.get_closest_marker("job")):
                n_pes, words, options = mark.args
                jobs[item.nodeid] = pool.submit(run_program, n_pes, *words.split(), **options)
        yield jobs
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def ended(request, started):
    """The end of the test's job: ``launch.Ended``."""
    return started[request.node.nodeid].result()


@pytest.mark.parametrize(
    ("within_s", "text"),
    [pytest.param(*expected, marks=job(n, words, limit_s), id=words) for n, words, limit_s, *expected in FAILS],
)
def test_a_job_that_fails_says_why_once(ended, within_s, text):
    assert ended.rc != 0 and "done" not in ended.output.split(), ended.output
    assert ended.since("fault") < within_s + BUSY_S, ended.output
    tracebacks = 0 if text is LEFT else 1
    assert re.search(text, ended.output) and ended.output.count(TRACEBACK) == tracebacks, ended.output
    assert ended.output.count("ended the job") == tracebacks, ended.output


@job(2, "struck collective none 0", LONG_S, act=("fault", lambda mpirun: mpirun.kill()))
def test_killing_mpirun_ends_every_rank(ended):
    assert ended.rc == -9, ended.output


@pytest.mark.parametrize("what", [pytest.param(what, marks=job(*words)) for what, words in WELL.items()])
def test_no_false_alarm(ended, what):
    assert ended.rc == 0 and "done" in ended.output and "pennympi: PE" not in ended.output, ended.output


@pytest.mark.parametrize("nodes", [pytest.param(n, marks=job(2, f"small first_calls {n}", 100)) for n in (1, 2)])
def test_two_threads_begin_at_the_same_time(ended, nodes):
    """Two threads each with a team.  The machine code of a thread was freed when the other thread had made it, too."""
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_program_that_never_finalizes_ends_well(compiled):
    assert compiled.rc == 0 and "done" in compiled.output and "the job" not in compiled.output, compiled.output


@job(2, "small forgetful 3", LONG_S)
def test_a_status_that_all_ranks_agree_on_is_kept(ended):
    assert ended.rc == 3 and "pennympi: PE" not in ended.output, ended.output


@job(2, "small forking", LONG_S)
def test_a_forked_child_has_no_place_in_the_job(ended):
    """Calls of a forked child are refused, and its end does not end the job."""
    assert ended.rc == 0 and ended.output.count("child refused 4") == 2, ended.output
    assert ended.output.count("child ended with 3, {True}") == 2, ended.output


SESSION = """
import mpi4py, numpy
mpi4py.rc.initialize = False
from mpi4py import MPI
import pennympi
session = MPI.Session.Init()
comm = MPI.Intracomm.Create_from_group(session.Create_group("mpi://WORLD"))
try:
    pennympi.init(comm)
except pennympi.Unsupported as error:
    print("refused:", error, flush=True)
MPI.Init_thread()
with pennympi.init(comm) as team, pennympi.init() as other:
    total = other.allreduce(team.allreduce(numpy.ones(10)))
    print(f"sum {total[0]};", end="", flush=True)
comm.Free()
session.Finalize()
"""


def test_a_session_alone_is_refused_and_may_stand_beside_mpi_init():
    ended = launch(2, "-c", SESSION, env=settled(2, PENNYMPI_BACKEND="host"), limit_s=60)
    assert ended.rc == 0 and ended.output.count("sum 4.0;") == 2, ended.output
    assert ended.output.count("refused: pennympi needs MPI.COMM_WORLD") == 2, ended.output


OWN = """
import os, sys, threading, time
from mpi4py import MPI
import pennympi
def own(kind, value, trace):
    print("own hook:", value, flush=True)
    time.sleep(0.2)
    MPI.COMM_WORLD.Abort(7)
sys.excepthook = own
before = sys.excepthook, threading.excepthook, sys.exit, os._exit
with pennympi.init(heap_bytes=64 << 20) as team:
    assert before == (sys.excepthook, threading.excepthook, sys.exit, os._exit)
    team.synchronize()
    if team.me == 1:
        raise ValueError("broken")
    team.barrier()
    team.synchronize()
"""


def test_without_hooks_the_programs_own_one_ends_the_job():
    ended = launch(2, "-c", OWN, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None), ended.output
    assert ended.output.count("own hook: broken") == 1 and "pennympi: PE 1 of 2 ended the job" not in ended.output
    assert not ended.left_in_shm and not ended.left_alive
