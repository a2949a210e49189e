"""Python imports this file at the start of every program of ``launch``: a rank writes a line in one piece.

With PYTHONUNBUFFERED alone each argument of ``print`` would be written by itself, and lines of two ranks would mix.
"""

import sys

sys.stdout.reconfigure(line_buffering=True)
