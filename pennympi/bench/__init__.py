"""Benchmarks of collectives, compared with other libraries; the command is ``python -m pennympi bench``."""
