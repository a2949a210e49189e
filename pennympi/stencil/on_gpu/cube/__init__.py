"""Passes over three dimensions: a block goes through the planes."""
