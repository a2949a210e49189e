"""The choice of an algorithm: tables of measured times, and the costs of the algorithms."""
