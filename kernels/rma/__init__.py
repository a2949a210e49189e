"""One-sided operations as kernel texts."""
