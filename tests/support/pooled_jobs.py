"""Jobs that tests look at once they have ended: two run at a time, from when the first test of a file asks for one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from launch import run_program


def job(n_pes, words, timeout_s, **options):
    """A mark: ``ended`` is how this job of support/programs/ ended.  words: the program and its arguments"""
    return pytest.mark.job(n_pes, words, {"timeout_s": timeout_s, **options})


@pytest.fixture(scope="module")
def started(request):
    """{id of a test of this file: its job, as a future}"""
    with ThreadPoolExecutor(2) as pool:
        jobs = {}
        for item in request.session.items:
            mark = item.get_closest_marker("job")
            if mark and item.module is request.module:
                n_pes, words, options = mark.args
                jobs[item.nodeid] = pool.submit(run_program, n_pes, *words.split(), **options)
        yield jobs
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def ended(request, started):
    """How the test's own job ended: ``launch.Ended``."""
    return started[request.node.nodeid].result()
