"""The seed of the tests: new, and the same in all processes of pytest-xdist; or PENNYMPI_MACHINE_SEED to repeat a run."""

import os

FRESH = str(int(os.environ.get("PYTEST_XDIST_TESTRUNUID", "")[:8] or os.urandom(4).hex(), 16))
# Removed from the environment, since the library warns about settings that it does not know.
SEED = os.environ.pop("PENNYMPI_MACHINE_SEED", "") or FRESH
