"""Times of a run, of its phases, and of the same solve on one PE."""
