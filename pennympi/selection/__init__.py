"""Which algorithm runs: tables of measured times, and the costs of the algorithms."""
