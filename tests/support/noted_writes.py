"""Kernels run in plain Python, without data, to see where they write and how many bytes they put to whom."""

from collections import Counter, defaultdict

from pennympi.compile.bind import bind, grouped, parameters
from pennympi.kernels import block as primitives
from pennympi.kernels.algorithm import GROUP_DATA_BYTES, PACKET_BYTES, PACKETS_TOGETHER

INBOX, OUTBOX, SIGNALS, ROUTES, OUT, SRC, NUMBERS = (k << 44 for k in range(1, 8))
EPOCH = 6


class Workspace:
    """Implementations of primitives that note what a kernel writes into peers' inboxes and its outbox, and its words.

    sent: of each (PE, peer), bytes of data that it puts there
    """

    def __init__(self, algorithm, topology, limits, plan, count, item_bytes, acc_bytes):
        self.algorithm, self.topology, self.limits, self.plan = algorithm, topology, limits, plan
        self.known = {
            "ctx": 0, "n_pes": topology.n_pes, "item_bytes": item_bytes, "acc_bytes": acc_bytes, "out": OUT, "src": SRC,
            "n_elems": count, "piece_elems": plan.piece_elems, "buffer_bytes": limits.buffer_bytes,
            "inbox": INBOX, "outbox": OUTBOX, "signals": SIGNALS, "epochs": 0, "peer_table": ROUTES,
            "residual": 0, "out_is_symmetric": 0, "root": 0, "tag": 5 << 46,
            "nbytes": count * item_bytes, "piece_bytes": plan.piece_elems * item_bytes,
            "send_counts": NUMBERS, "receive_counts": NUMBERS, "send_starts": 0, "receive_starts": 0,
            "src_elems": 1 << 40, "out_elems": 1 << 40, "elem_bytes": item_bytes,
        }  # fmt: skip
        self.count = count
        self.item, self.acc, self.n_words = item_bytes, acc_bytes, algorithm.signal_words(topology, limits)
        self.sent: Counter[tuple[int, int]] = Counter()
        self.inbox = defaultdict(dict)  # of each PE: address -> the most bytes that are written there
        implementations = {
            name: self._nothing for name, one in vars(primitives).items() if getattr(one, "primitive", False)
        }
        noted = {name for name in vars(Workspace) if not name.startswith("_")} - {"run", "must_be_apart"}
        assert noted <= implementations.keys(), "a method has the name of no primitive"
        implementations |= {name: getattr(self, name) for name in noted}
        self.kernel = bind(algorithm.kernel, implementations, lambda helper: helper)

    def run(self, me, block):
        self.me, self.index = me, block
        self.words = self.algorithm.peer_table(self.topology, me) if self.algorithm.peer_table else ()
        self.kernel(
            *grouped(
                self.algorithm.kernel, [{**self.known, "me": me}[name] for name in parameters(self.algorithm.kernel)]
            )
        )

    def _nothing(self, *args):
        """A primitive that does not write to a workspace."""

    def block(self):
        return self.index

    def blocks(self):
        return self.plan.blocks

    def read_epoch(self, epochs, index):
        if epochs >= NUMBERS:
            return self.count
        if INBOX <= epochs < OUTBOX:  # the head of a message
            return self.count * self.item
        return EPOCH if epochs < SIGNALS or index < 2 else 0

    def write_epoch(self, epochs, index, epoch):
        self._own(epochs, 8)

    def read_peer(self, peer_table, index):
        return self.words[(peer_table - ROUTES) // 8 + index]

    def stage_for_put(self, ctx, staging, src, nbytes, pe):
        self._own(staging, nbytes)
        return staging

    def _own(self, at, nbytes):
        """This PE writes its outbox, or elsewhere."""
        if nbytes > 0 and OUTBOX <= at < SIGNALS:
            self._in_a_buffer(at - OUTBOX, nbytes)

    def _in_a_buffer(self, at, nbytes):
        size = self.limits.buffer_bytes
        assert at // size // 2 == self.index, f"at {at}: not in block {self.index}'s buffers"
        assert at % size + nbytes <= size, f"{nbytes} bytes at {at % size} of a buffer of {size}"

    def put(self, ctx, dst, src, nbytes, pe):
        self.sent[self.me, pe] += nbytes
        self._to_inbox(dst, nbytes, pe)

    def _to_inbox(self, dst, nbytes, pe):
        if nbytes > 0 and INBOX <= dst < OUTBOX:
            self._in_a_buffer(dst - INBOX, nbytes)
            found = self.inbox[pe]
            found[dst] = max(found.get(dst, 0), nbytes)

    def signal(self, ctx, word, value, pe):
        assert 0 <= (word - SIGNALS) // 8 - self.index * self.n_words < self.n_words, "not this block's word"

    def wait(self, ctx, word, value, source):
        self.signal(ctx, word, value, source)

    def signal_all(self, ctx, signals, value, me, n_pes):
        self.signal(ctx, signals, value, 0)
        self.signal(ctx, signals + 8 * (n_pes - 1), value, 0)

    wait_all = meet_multicast = lambda self, ctx, signals, value, *rest: self.signal(ctx, signals, value, 0)

    def put_signal(self, ctx, dst, src, nbytes, word, value, pe):
        self.put(ctx, dst, src, nbytes, pe)
        self.signal(ctx, word, value, pe)

    def copy(self, dst, src, nbytes):
        self._own(dst, nbytes)

    def to_partials(self, ctx, dst, src, count):
        self._own(dst, count * self.acc)

    def reduce(self, ctx, dst, part, src, count):
        self._own(dst, count * self.acc)

    reduce_partials = reduce

    def reduce_and_round(self, ctx, dst, part, src, count):
        self._own(dst, count * self.item)

    reduce_partials_and_round = reduce_and_round

    def combine(self, ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
        self._own(out, count * self.item)
        self._own(scratch, count * self.acc)

    def combine_put(self, ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
        self.combine(ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes)
        for pe in range(n_pes):
            if pe != me:
                self.put(ctx, there, out, count * self.item, pe)

    def reduce_multicast(self, ctx, dst, src, count, scratch):
        self._own(dst, count * self.item)
        self._own(scratch, count * self.acc)

    def store_multicast(self, ctx, dst, src, nbytes):
        self.put(ctx, dst, src, nbytes, self.topology.n_pes)

    def send_packets(self, ctx, slot, src, nbytes, epoch, pe):
        self.sent[self.me, pe] += nbytes
        self._to_inbox(slot, -(-nbytes // GROUP_DATA_BYTES) * PACKETS_TOGETHER * PACKET_BYTES, pe)

    def exchange_reduce_packets(self, ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, *rest):
        for pe in range(n_pes):
            if pe != me:
                self.send_packets(ctx, slots + me * slot_bytes, src, count * self.item, epoch, pe)
        self._own(scratch, count * self.acc)

    def reduce_forward_packets(self, ctx, out, slots, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes, *rest):
        self.exchange_reduce_packets(ctx, out, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes)

    def all_to_all_packets(self, ctx, out, out_stride, src, src_stride, slots, slot_bytes, nbytes, epoch, me, n_pes):
        self.exchange_reduce_packets(ctx, out, slots, slot_bytes, src, nbytes // self.item, epoch, OUT, me, n_pes)

    def must_be_apart(self):
        """No two messages to a PE overlap, unless they are for the same place."""
        for pe, found in self.inbox.items():
            end = 0
            for at in sorted(found):
                assert at >= end, f"messages to PE {pe} overlap by {end - at} bytes"
                end = at + found[at]
