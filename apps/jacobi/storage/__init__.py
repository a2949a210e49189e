"""Checkpoints, restarts and result files."""
