"""python small.py PROGRAM [ARGUMENTS]: small programs that fail, or seem to fail, each in its own way."""

import os
import signal
import subprocess
import sys
import threading
import time

from mpi4py import MPI

import pennympi
from pennympi.compile.cache import made_once
from pennympi.host.runtime.network import Channel
from pennympi.job.beats import BEAT_S, Beats

world, TIMEOUT_S = MPI.COMM_WORLD, os.environ["PENNYMPI_TIMEOUT_S"]


def say_fault():
    os.write(1, f"fault {time.time()}\n".encode())


def all_raise():
    """All PEs raise at once."""
    with pennympi.init() as team:
        team.gather(0)
        say_fault()
        raise ValueError(f"broken on PE {team.me}")


def halves():
    """Two teams of half the ranks each: one team fails while a rank of the other waits for it in MPI."""
    half = world.Split(world.Get_rank() % 2)
    with pennympi.init(world), pennympi.init(half) as team:
        team.allreduce(team.zeros(100, "float32"))
        team.synchronize()
        if world.Get_rank() == 3:
            say_fault()
            raise ValueError("broken in one half")
        world.Barrier()


def uninvited():
    """PE 1 never comes to init.  The others receive any message."""
    world.Irecv(bytearray(4096), MPI.ANY_SOURCE, MPI.ANY_TAG)
    if world.Get_rank() == 0:
        say_fault()
    if world.Get_rank() != 1:
        pennympi.init()


def half_ended():
    """Each PE is a node of its own.  PE 1 sleeps before it would send its last message of the team."""
    os.environ["PENNYMPI_NODE"] = f"node{world.rank}"
    with pennympi.init():
        if world.rank == 1:
            Channel.close = lambda channel: (say_fault(), time.sleep(60))
    print("done")


def late_sign():
    """Each PE is a node of its own, and receives no sign of life until it ends the team.  No later communicator gets a
    sign that is left."""
    os.environ["PENNYMPI_NODE"] = f"node{world.rank}"
    receive, close = Beats._receive, Beats.close

    def end(beats, *args):
        Beats._receive = receive
        close(beats, *args)

    with pennympi.init():
        Beats._receive, Beats.close = lambda beats: None, end
        time.sleep(2.5 * BEAT_S)
    comms = [world.Dup() for _ in range(4)]
    world.Barrier()
    time.sleep(0.1)
    assert not any([comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG) for comm in comms * 2])
    print("done")


def compiling():
    """PE 0 makes an entry of the cache, for two deadlines, while the others wait for it in a meeting."""
    with pennympi.init() as team:
        if team.me == 0:
            slow_s = 2 * float(TIMEOUT_S)
            made_once("slow", (str(time.time()),), lambda: time.sleep(slow_s) or b"made")
        team.gather(team.me)
    print("done")


def forgetful(status="0", late_s="0"):
    """Never finalize; PE 0 reaches the end later than the others."""
    team = pennympi.init()
    x = team.zeros(100, "float32")
    for algorithm in ("auto", "auto", "ring"):
        team.allreduce(x, algorithm=algorithm)
    team.synchronize()
    if team.me == 0:
        time.sleep(float(late_s))
        print("done")
    if status != "0":
        sys.exit(int(status))


def skewed(how):
    """PE 1 comes two deadlines late, asleep or busy with calls on its own team; the others wait for it in a kernel, most
    of them for a PE that waits itself, and in a meeting."""
    with pennympi.init() as team, pennympi.init(MPI.COMM_SELF) as part:
        x = team.zeros(100, "float32")
        part.barrier()
        for late in (lambda: team.allreduce(x, algorithm="ring"), lambda: team.gather(team.me)):
            team.allreduce(x, algorithm="ring")  # compiled, and all PEs have come
            end = time.monotonic() + 2 * float(TIMEOUT_S)
            if team.me == 1:
                say_fault()
                while time.monotonic() < end:
                    time.sleep(float(TIMEOUT_S) / 10)
                    if how == "busy":
                        part.barrier()
            late()
    print("done")


def alone_in_sweeps(engine):
    """PE 1 makes the plan of sweeps, and never calls it."""
    with pennympi.init() as team:
        grid = team.grid((64, 64), periodic=True)
        u, v = grid.zeros("float32"), grid.zeros("float32")
        sweep = grid.plan_sweep(
            lambda u, x_minus, x_plus, y_minus, y_plus: y_minus, u, v, 40, norm="every", engine=engine
        )
        sweep()
        team.synchronize()
        team.gather(0)
        say_fault()
        if team.me != 1:
            sweep()
            team.synchronize()
        time.sleep(3 * float(TIMEOUT_S))
    print("done")


def interrupted():
    """Signals reach PE 0 while it waits in a kernel: a handler runs and the wait goes on; Ctrl-C ends the wait."""
    with pennympi.init() as team:
        x, ran = team.zeros(100, "float32"), threading.Event()
        team.allreduce(x, algorithm="ring")
        signal.signal(signal.SIGUSR1, lambda number, frame: ran.set())

        def strike():
            os.kill(os.getpid(), signal.SIGUSR1)
            if ran.wait(1):
                say_fault()
                os.kill(os.getpid(), signal.SIGINT)

        if team.me == 0:
            threading.Timer(0.3, strike).start()
            try:
                team.allreduce(x, algorithm="ring")
            except KeyboardInterrupt:
                try:
                    team.barrier()
                except pennympi.NotInitialized as error:
                    print(error, flush=True)
                raise
        time.sleep(30)
    print("done")


def forking():
    """Each PE forks a child, which tries to use the team and ends; the job goes on."""
    with pennympi.init() as team:
        x = team.full(10, 1, "int32")
        plan = team.plan_allreduce(x)
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (plan, lambda: team.gather(1), lambda: team.empty(3, "float32"), lambda: team.put(x, x, 0)):
                try:
                    call()
                except pennympi.NotInitialized as error:
                    refused += "forked" in str(error)
            print(f"child refused {refused}", flush=True)
            os._exit(3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        team.allreduce(x)
        print(f"child ended with {status}, {set(team.gather(x.tolist() == [team.n_pes] * 10))}")


def first_calls(nodes="1"):
    """Two threads each make a team at the same time, and its first calls.  nodes: "2" if each PE is a node of its own"""
    start, right = threading.Barrier(2), []
    if nodes == "2":
        os.environ["PENNYMPI_NODE"] = f"node{world.rank}"

    def run(comm, ops):
        start.wait()
        with pennympi.init(comm) as team:
            assert len(team.pe_topology.nodes) == int(nodes)
            x = team.zeros(500, "int64")
            for op in ops:
                start.wait()
                for step in range(20):
                    x[:] = step
                    team.allreduce(x, op=op)
                    assert (x == (step if op == "max" else step * team.n_pes)).all()
        right.append(comm)

    runs = [(world.Dup(), ("sum", "max", "sum")), (world.Dup(), ("sum", "max", "max"))]
    threads = [threading.Thread(target=run, args=arguments) for arguments in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.Barrier()
    if len(right) == 2:
        print("done")


def suspended():
    """The job is stopped for two deadlines while PEs wait for PE 0: PE 1 in a kernel, PE 2 in a meeting, PE 3 in MPI."""
    timeout_s, me = float(TIMEOUT_S), world.rank
    pairs = [world.Create_group(world.group.Incl([0, pe])) for pe in (1, 2, 3) if me in (0, pe)]
    with pennympi.init(world) as team:
        words = team.signals(1)
        meeting = pennympi.init(pairs[me == 0]) if me in (0, 2) else None
        pids = " ".join(map(str, team.gather(os.getpid())))
        if me == 0:
            script = f"sleep 0.3; kill -STOP {pids}; sleep {2 * timeout_s}; kill -CONT {pids}"
            subprocess.Popen(["sh", "-c", script], start_new_session=True)
            time.sleep(1)  # ends after the job has been continued
            time.sleep(timeout_s / 2)
            team.put_signal(words, words, words, 1, 1)
            meeting.gather(0)
            pairs[2].Barrier()
        elif me == 1:
            team.wait_signal(words, 1, source=0)
        elif me == 2:
            meeting.gather(0)
        else:
            pairs[0].Barrier()
        if meeting:
            meeting.finalize()
    print("done")


globals()[sys.argv[1]](*sys.argv[2:])
