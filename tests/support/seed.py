"""The seed of the tests: fresh, or PENNYMPI_MACHINE_SEED to repeat a run."""

import os

# Taken out of the environment: the library warns of settings that it does not know.
SEED = os.environ.pop("PENNYMPI_MACHINE_SEED", "") or str(int.from_bytes(os.urandom(4)))
