"""Faults that the texts have today, in one place: what fails is not run, and what is mended is taken out of here.

Each is (table, row, network, arrays); see ``program.Case``.
"""

KNOWN: set[tuple[str, str, str, str]] = set()
