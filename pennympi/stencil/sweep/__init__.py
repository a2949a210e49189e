"""Sweeps of a user's formula over the points of a grid: the plans of ``Grid.plan_sweep``."""
