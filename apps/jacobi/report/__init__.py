"""What a run prints and plots."""
