"""Fixtures of support/."""

from limits import full_disk  # noqa: F401
from pooled_jobs import ended, started  # noqa: F401
