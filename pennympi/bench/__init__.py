"""Benchmarks of collectives beside other libraries; the command is ``python -m pennympi bench``."""
