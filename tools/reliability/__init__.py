"""The reliability scorecard: what is tried, how often, and what came of it (see tools/scorecard.py)."""
