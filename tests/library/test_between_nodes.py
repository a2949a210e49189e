"""Messages between nodes on CPUs: PEs of this host that act as two nodes."""

from launch import launch

HELD = [
    "a put and a get reach a PE that computes",
    "puts of one PE arrive in order, whatever their size",
    "all PEs send 4 MiB to all others at once",
    "many meetings beside puts and signs of life",
    "a PE that compiles is alive for other nodes",
]


def test_between_two_nodes():
    ended = launch(4, "tests/support/programs/two_nodes.py", limit_s=120, env={"PENNYMPI_TIMEOUT_S": "3"})
    assert ended.rc == 0, ended.output
    assert [line[6:] for line in ended.output.splitlines() if line.startswith("held: ")] == HELD
    assert not ended.left_in_shm and not ended.left_alive
