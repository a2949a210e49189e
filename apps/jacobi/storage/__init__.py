"""Checkpoints, restarts and files."""
