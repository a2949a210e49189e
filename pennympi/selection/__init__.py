"""Which algorithm runs: tables of measured times, the cost model, and size thresholds."""
