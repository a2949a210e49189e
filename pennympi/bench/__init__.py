"""Measuring collectives beside their rivals; the command is ``python -m pennympi bench``."""
