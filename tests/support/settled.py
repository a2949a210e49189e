"""The environment of a job that a test starts itself."""

from pennympi.settings import setting
from pennympi.start import why_no_cuda


def settled(n_pes, **more):
    """Variables for n_pes ranks: the cuda backend if there is a GPU for each, else the host backend."""
    return {"PENNYMPI_BACKEND": backend(n_pes), "PENNYMPI_TIMEOUT_S": "100", **more}


def backend(n_pes):
    """ "cuda" or "host"."""
    if setting("PENNYMPI_BACKEND") == "host" or why_no_cuda():
        return "host"
    import cupy

    return "cuda" if cupy.cuda.runtime.getDeviceCount() >= n_pes else "host"
