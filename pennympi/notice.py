"""Lines on stderr."""

import os


def say(text: str) -> None:
    """Write a line to stderr in one piece, past Python's lock, so that lines of several ranks do not mix."""
    try:
        os.write(2, f"{text}\n".encode(errors="replace"))
    except OSError:
        pass  # stderr is closed
