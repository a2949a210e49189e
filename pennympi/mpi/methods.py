"""The methods of mpi4py that take a buffer, also for arrays on GPUs.

An MPI that is not built for CUDA reads an address of a GPU as one of the host, and the process dies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from mpi4py import MPI
from numpy import ndarray

from . import receives
from .agreement import METHODS_COUNT
from .message import ON_HOST, SIZES, SPECS, LeftToMPI, buffer_of, is_on_gpu
from .messages import OF_COMM, OF_MESSAGE
from .page import LEAST_BYTES
from .receives import noted
from .requests import Persistent
from .staging import begun, refuse, staged
from .table import TABLE, Row

Method = Callable[..., Any]
_BUFFERS = ("buf", "sendbuf", "recvbuf")
_BLOCKING = ("Recv", "Sendrecv", "Sendrecv_replace")


def collective(name: str, row: Row, by_mpi: Method, by_size: Method) -> Method:
    """A method of the table, which first leaves a small message to MPI.

    The method compares the size of the buffer: if the elements have no gaps, no message is longer than its buffer.
    by_mpi: method of MPI;  by_size: method that reads all forms of the arguments
    """
    x = list(signature(by_mpi).parameters)[1 + row.sized]
    is_small, counted = f".nbytes < {row.from_bytes}", " and self._agreement.count()" if METHODS_COUNT else ""
    lines = [
        "if self._agreement.by_table:",
        f" if type({x}) is ndarray:",
        f"  if {x}{is_small}{counted}:",
        "   return by_mpi(self, ARGUMENTS)",
        "  team = self._agreement.team_on_host",
        "  if team is not None and by_plain(team, ARGUMENTS):",
        "   return",
        f" elif type({x}) in SPECS and {x} and type({x}[0]) is ndarray and {x}[0]{is_small}:",
        f"  if ({x}[-1] is DOUBLE or id({x}[-1]) in SIZES or type({x}[-1]) is list){counted}:",  # a list of counts
        "   return by_mpi(self, ARGUMENTS)",
        "return by_size(self, ARGUMENTS)",
    ]
    names = {"by_plain": row.by_plain, "SIZES": SIZES, "DOUBLE": MPI.DOUBLE}
    return _method(by_mpi, lines, names | {"by_mpi": by_mpi, "by_size": by_size})


def for_gpus(methods: dict[str, Method]) -> dict[str, Method]:
    """The methods of mpi4py that take a buffer, for arrays on GPUs, too."""
    of_messages = OF_COMM if "Send" in methods else OF_MESSAGE
    plain = {name: method for name, method in methods.items() if _buffers(method)}
    return {name: _for_gpus(plain[name], _on_gpu(name, plain, of_messages), name in of_messages) for name in plain}


def _on_gpu(name: str, methods: dict[str, Method], of_messages: dict[str, Method]) -> Method:
    """The method for an array on a GPU: it takes (comm, *arguments).  Raises LeftToMPI."""
    plain = methods[name]
    if name.endswith("_init"):
        begins = f"I{name.removesuffix('_init').lower()}"
        if begins not in methods:
            return refuse(plain)
        n_args = len(_parameters(methods[begins]))  # no Info
        return lambda comm, *args: Persistent(lambda: getattr(comm, begins)(*args[:n_args]))
    if name == "Attach_buffer":
        return refuse(plain)
    for table_name, row in TABLE.items():
        if name == f"I{table_name.lower()}":
            return begun(row, plain)
    return of_messages.get(name) or staged(plain)


def _for_gpus(plain: Method, on_gpu: Method, is_message: bool) -> Method:
    """The method of mpi4py, or ``on_gpu`` if an argument is an array on a GPU, or a message may be an envelope."""
    buffers, names = _buffers(plain), [parameter.name for parameter in _parameters(plain)]
    is_receive = is_message and "recv" in plain.__name__.lower() or plain.__name__ == "Recv_init"
    place = names.index("recvbuf" if "recvbuf" in names else "buf")
    by_mpi = noted(plain) if is_receive and plain.__name__ not in _BLOCKING else plain

    def by_place(comm: Any, *args: Any) -> Any:
        received = args[place]
        lies_on_gpu = type(buffer_of(received)) is getattr(sys.modules.get("cupy"), "ndarray", None)
        fits = type(received) is not ndarray or received.nbytes >= LEAST_BYTES  # an envelope fits into it
        try:
            if lies_on_gpu or (is_receive and receives.takes_envelopes and fits) or any(map(is_on_gpu, args)):
                return on_gpu(comm, *args)
        except LeftToMPI:
            if any(map(is_on_gpu, args)):
                text = "of the message lies on a GPU and can't be read: give the array, or [x, count, MPI.DOUBLE]"
                raise TypeError(f"{plain.__name__}: an array {text}") from None
        return by_mpi(comm, *args)

    takes_none = ["not receives.takes_envelopes"] * is_receive
    of_list = "type({0}) in SPECS and {0} and type({0}[0]) in ON_HOST"
    on_host = [f"(type({buffer}) in ON_HOST or {of_list.format(buffer)})" for buffer in buffers]
    at_once = f"if {' and '.join([*on_host, *takes_none])}:"
    lines = [at_once, " return by_mpi(self, ARGUMENTS)", "return by_place(self, ARGUMENTS)"]
    return _method(plain, lines, {"by_mpi": by_mpi, "by_place": by_place, "receives": receives})


def _parameters(plain: Method) -> list[Parameter]:
    return list(signature(plain).parameters.values())[1:]


def _buffers(plain: Method) -> list[str]:
    return [name for name in signature(plain).parameters if name in _BUFFERS]


def _method(plain: Method, lines: Sequence[str], names: dict[str, Any]) -> Method:
    """A method with the parameters of ``plain``.

    The method is compiled from text with those parameters, since a method of *arguments would take 0.2 us more.
    lines: lines of its body, in which ARGUMENTS stands for the parameters;  names: globals of the lines
    """
    parameters = _parameters(plain)
    has_default = [parameter.default is not Parameter.empty for parameter in parameters]
    heading = ", ".join(
        f"{parameter.name}=DEFAULTS[{place}]" if has_default[place] else parameter.name
        for place, parameter in enumerate(parameters)
    )
    body = "\n ".join(lines).replace("ARGUMENTS", ", ".join(parameter.name for parameter in parameters))
    defaults = [parameter.default for parameter in parameters]
    names |= {"DEFAULTS": defaults, "ON_HOST": ON_HOST, "SPECS": SPECS, "ndarray": ndarray}
    exec(f"def {plain.__name__}(self, {heading}):\n {body}", names)
    method: Method = wraps(plain)(names[plain.__name__])
    return method
