"""Signals of the operating system while a thread waits in a kernel: an exception of a Python handler ends the wait.

Python runs a handler only between two steps of its interpreter.  So ten times a second a wait calls Python's C functions,
which run the handlers.
"""

import ctypes

import numpy as np

from .intrinsics import call, load_word, store_word
from .numba_cpu import device_function

BETWEEN_NS = 100_000_000
# The words: addresses of Python's functions, time of the last call, and the exception that a handler has raised
ENSURE, CHECK, FETCH, RELEASE, ASKED_NS, KIND, VALUE, TRACE = range(8)
_python = ctypes.pythonapi
_functions = _python.PyGILState_Ensure, _python.PyErr_CheckSignals, _python.PyErr_Fetch, _python.PyGILState_Release
_words = np.array([ctypes.cast(function, ctypes.c_void_p).value or 0 for function in _functions] + 4 * [0], np.int64)
address: int = _words.ctypes.data


@device_function
def handler_raises(words, now_ns):
    """Run the handlers of pending signals.  Returns True if a handler has raised an exception, which the words keep."""
    if now_ns - load_word(words + 8 * ASKED_NS) < BETWEEN_NS:
        return False
    store_word(words + 8 * ASKED_NS, now_ns)
    state = call(load_word(words + 8 * ENSURE))
    raised = call(load_word(words + 8 * CHECK)) != 0
    if raised:
        call(load_word(words + 8 * FETCH), words + 8 * KIND, words + 8 * VALUE, words + 8 * TRACE)
    call(load_word(words + 8 * RELEASE), state)
    return raised


def raise_kept() -> None:
    """Raise the exception of a handler, if the words keep one."""
    if _words[KIND]:
        kept = [ctypes.c_void_p(int(word)) for word in _words[KIND:]]
        _words[KIND:] = 0
        _python.PyErr_Restore(*kept)  # ctypes then finds an exception, and raises it
