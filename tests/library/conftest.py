"""The jobs that tests look at, as fixtures."""

from pooled_jobs import ended, started  # noqa: F401 - fixtures
