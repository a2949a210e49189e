"""The GPU of each PE, from the runtime's current GPU."""

import warnings
from types import SimpleNamespace

import pytest
from fake_modules import imported_over


def numbers(current, nodes, n_gpus):
    """The GPU numbers of all PEs.  current: the current GPU of each;  nodes: the PEs of each."""

    def of(me, pes):
        runtime = SimpleNamespace(getDeviceCount=lambda: n_gpus, getDevice=lambda: current[me])
        control = SimpleNamespace(machine_pes=pes)
        job = SimpleNamespace(me=me, control=control, gather=lambda mine, what: current)
        with imported_over(
            {"cupy": SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))}, "memory.which_gpu"
        ) as module:
            return module.number_of_gpu(job)

    return [of(me, pes) for pes in nodes for me in pes]


@pytest.mark.parametrize(
    ("current", "nodes", "n_gpus", "want"),
    [
        ([0, 0, 0], [[0, 1, 2]], 2, [0, 1, 0]),  # no program chose a GPU
        ([1, 0], [[0, 1]], 2, [1, 0]),
        ([2, 2], [[0, 1]], 4, [2, 2]),
        ([0, 0, 3, 0], [[0, 1], [2, 3]], 4, [0, 1, 3, 0]),  # the choice of a node concerns that node only
    ],
)
def test_the_current_gpu_or_that_of_the_number_on_the_node(current, nodes, n_gpus, want):
    assert numbers(current, nodes, n_gpus) == want


@pytest.mark.parametrize(("visible", "warned"), [("", 1), ("1", 1), ("0,1", 0)])
def test_pes_that_see_one_gpu_are_told(monkeypatch, visible, warned):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert numbers([0, 0], [[0, 1]], 1) == [0, 0]
    assert ["2 PEs of this node see one GPU each" in str(one.message) for one in found] == [True] * warned
