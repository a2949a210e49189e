"""Streams, events, and loops that run on the device."""
