"""Times of a run, and of the same run on one PE."""
