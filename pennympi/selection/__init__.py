"""Which algorithm runs: tables of measured times, the cost model, and the rules."""
