"""``python -m apps.jacobi.scaling``: see ``scaling.py`` beside this file."""

import sys

from .scaling import main

if __name__ == "__main__":
    sys.exit(main())
