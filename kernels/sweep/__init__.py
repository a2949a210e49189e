"""Sweeps: a formula of a point and its neighbours, applied to all points of a grid again and again."""
