"""The blocks of a pass that exchange halos."""

import pytest

from pennympi.stencil.on_gpu.chunks import cut_into_chunks, pass_launch


@pytest.mark.parametrize(
    ("chunk", "depth", "wait", "exchanging"),
    [(36, 8, 18, (10, 128)), (6, 3, 16, (10, 128)), (12, 8, 18, (64, 128)), (36, 8, None, (32, 32))],
    ids=["spared many points", "spared half", "spared few points", "in turns"],
)
def test_blocks_help_those_that_wait(chunk, depth, wait, exchanging):
    """Five blocks a chunk, of which those of the two chunks at the ends wait."""
    cut, waiting = cut_into_chunks(2048, chunk, 0, depth, (1, 1), wait)
    launch = pass_launch(128, cut, 5, waiting, False, wait is not None)
    assert launch.n_waiting == 10 and launch.most_exchanging == exchanging
