"""The one-sided operations of a team, and exchanges of two PEs, as their user calls them."""

from .annotations import AnyStream, Array, ExchangeForm
from .collectives.base import CollectiveContext
from .collectives.exchange import Exchange
from .rma import OneSided


class OneSidedCalls:
    """Puts, gets, signals and exchanges."""

    def __init__(self, context: CollectiveContext):
        self._backend, self._guard = context.backend, context.guard
        self._rma = OneSided(context.backend, context.job, context.arrays)
        self._exchange = Exchange(context)

    def put(self, dst: Array, src: Array, pe: int, stream: AnyStream | None = None) -> None:
        """``dst`` on PE ``pe`` = ``src``, in stream order.  Not collective.

        dst: a symmetric array or a view of one; its local instance names the remote one
        src: any array of the same count and dtype.  If no pointer reaches the PE, src is copied first, unless it is
             symmetric or registered
        Raises TypeError, ValueError (dst, src, pe), Unsupported (dtype), PeerTimeout.
        """
        self._guard.check_open()
        self._rma.put(dst, src, pe, self._backend.streams.handle(stream))

    def get(self, dst: Array, src: Array, pe: int, stream: AnyStream | None = None) -> None:
        """``dst`` = ``src`` on PE ``pe``, in stream order.  Not collective.

        dst: an array
        src: a symmetric array or view of the same count and dtype; its local instance names the remote one
        Raises as ``put``.
        """
        self._guard.check_open()
        self._rma.get(dst, src, pe, self._backend.streams.handle(stream))

    def put_signal(
        self, dst: Array, src: Array, signal: Array, value: int, pe: int, stream: AnyStream | None = None
    ) -> None:
        """``put``, then set ``signal`` on PE ``pe`` to ``value``: a PE that sees the value sees the data.  Not
        collective.

        signal: one element of ``signals(n)``, such as words[3:4]
        value:  int from 0 to 2**62 - 1, larger than any that this word had before
        Two values for one word that are under way on a network at a time may arrive in either order: use two words
        alternately, or send the second value when you know that the first has been seen.
        Raises as ``put``.
        """
        self._guard.check_open()
        self._rma.put_signal(dst, src, signal, value, pe, self._backend.streams.handle(stream))

    def wait_signal(self, signal: Array, value: int, source: int | None = None, stream: AnyStream | None = None) -> None:
        """Hold the stream until ``signal`` of this PE is at least ``value``.  Not collective.

        signal, value: see ``put_signal``, also on two values under way: the later one ends the wait for the earlier
        source: the PE that sets the signal, which a PeerTimeout then names; None: not known
        Raises TypeError, ValueError (signal, value, source), PeerTimeout.
        """
        self._guard.check_open()
        self._rma.wait_signal(signal, value, source, self._backend.streams.handle(stream))

    def quiet(self, stream: AnyStream | None = None) -> None:
        """Complete this PE's earlier puts, in stream order.  Not collective.  Raises TypeError (not a stream)."""
        self._guard.check_open()
        self._backend.peers.quiet(self._backend.streams.handle(stream))

    def barrier(self, stream: AnyStream | None = None) -> None:
        """Hold the stream until the streams of all PEs have come to this call, and complete earlier puts.  Collective.

        Raises TypeError (not a stream), PeerTimeout.
        """
        handle = self._backend.streams.handle(stream)
        self._guard.enter("barrier")
        self._rma.barrier(handle, stream)

    def exchange(
        self, recv: Array, send: Array, pe: int, form: ExchangeForm = "put_signal", stream: AnyStream | None = None
    ) -> None:
        """Swap with PE ``pe``, which makes the same call: recv = its send, in stream order.  recv may be send.

        recv, send: arrays of the same count and dtype
        form: "put_signal" (fastest) or "put_fence_signal": collective over the two PEs only;
              "put_barrier": collective over the team
        Raises TypeError, ValueError (arrays, pe, form), Unsupported (dtype), PeerTimeout.
        """
        self._guard.check_open()
        self._exchange.swap(recv, send, pe, form, self._backend.streams.handle(stream), stream)
