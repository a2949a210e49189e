"""Faults that kernels are known to have, in one place.  Cases listed here are not run; a mended fault is taken out.

Each is (table, row, network, arrays); see ``program.Case``.
"""

KNOWN: set[tuple[str, str, str, str]] = set()
