"""Runs of the solver on several numbers of PEs."""
