"""Sweeps of a user's formula over the points of a grid: what ``Grid.plan_sweep`` makes."""
