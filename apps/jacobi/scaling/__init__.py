"""Runs of the solver at several numbers of PEs."""
