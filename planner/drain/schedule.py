"""The order of moves: batches that bound what each broker has in flight, and how long each should take."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.drain.plan import Batch, Move
from planner.drain.request import BatchLimits
from planner.drain.throttle import Throttles

BATCH_OVERHEAD_S = 2.0
"""Between two batches: one look at the cluster, a metadata round trip, throttle lists. An assumption."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What the network sees of a move: `leader` sends `each` bytes to every one of `into`."""

    leader: int
    into: tuple[int, ...]
    each: int

    @property
    def size_class(self) -> int:
        """Sizes of one class differ by less than a factor of two."""
        return self.each.bit_length()


def copies_of(moves: Sequence[Move], leaders: Sequence[int]) -> list[Copy]:
    """`leaders[i]` serves the copy of `moves[i]`; positions stay."""
    return [
        Copy(leader, added, move.bytes // len(added))
        for move, leader in zip(moves, leaders, strict=True)
        for added in [move.added]
    ]


def batches_in_order(copies: Sequence[Copy], limits: BatchLimits) -> list[list[int]]:
    """Positions of the copies of each batch.

    A batch waits for its longest copy, so large logs come first and small ones fill what room they leave.
    """
    packing = _Packing(limits)
    last_class = -1
    for position in _largest_first(copies):
        copy = copies[position]
        if copy.size_class != last_class:
            packing.look_again_from_the_first()
            last_class = copy.size_class
        packing.put(position, copy)
    return packing.cuts


def timed(cuts: Sequence[Sequence[int]], copies: Sequence[Copy], throttles: Throttles) -> tuple[Batch, ...]:
    """The batches with what they copy and how long that should take under the throttles."""
    return tuple(
        Batch(
            moves=tuple(cut),
            bytes=sum(copies[i].each * len(copies[i].into) for i in cut),
            eta_s=round(_copying_s(number, [copies[i] for i in cut], throttles) + BATCH_OVERHEAD_S, 3),
        )
        for number, cut in enumerate(cuts)
    )


def _largest_first(copies: Sequence[Copy]) -> list[int]:
    """Largest size class first; inside a class targets take turns, so none idles while another queues."""
    turn: Counter[tuple[int, int]] = Counter()
    keys: list[tuple[int, int, int]] = []
    for position, copy in enumerate(copies):
        first = (copy.size_class, copy.into[0])
        turn[first] += 1
        keys.append((-first[0], turn[first], position))
    return [position for _, _, position in sorted(keys)]


Port = tuple[str, int]
"""("out" or "in", broker id): network ports are full duplex, so each direction has its own limits."""


@dataclass(slots=True)
class _Packing:
    """Copies into the first batch where all their ports have room. `first[port]`: earlier ones are full for
    now.
    """

    limits: BatchLimits
    cuts: list[list[int]] = field(default_factory=list)
    held: dict[tuple[int, Port], int] = field(default_factory=dict)
    count: dict[tuple[int, Port], int] = field(default_factory=dict)
    first: dict[Port, int] = field(default_factory=dict)

    def look_again_from_the_first(self) -> None:
        self.first.clear()

    def put(self, position: int, copy: Copy) -> None:
        loads: list[tuple[Port, int]] = [(("out", copy.leader), copy.each * len(copy.into))]
        loads += [(("in", broker), copy.each) for broker in copy.into]
        at = max(self.first.get(port, 0) for port, _ in loads)
        while not self._fits(at, loads):
            at += 1
        if at == len(self.cuts):
            self.cuts.append([])
        self.cuts[at].append(position)
        for port, load in loads:
            self.held[at, port] = self.held.get((at, port), 0) + load
            self.count[at, port] = self.count.get((at, port), 0) + 1

    def _fits(self, at: int, loads: Sequence[tuple[Port, int]]) -> bool:
        if at == len(self.cuts):
            return True
        fits = len(self.cuts[at]) < self.limits.max_moves
        for port, load in loads:
            count, held = self.count.get((at, port), 0), self.held.get((at, port), 0)
            busy = count >= self.limits.max_moves_per_broker or held + load > self.limits.max_bytes_per_broker
            if count and busy:
                self.first[port] = max(self.first.get(port, 0), at + 1)
                fits = False
        return fits


def _copying_s(number: int, copies: Sequence[Copy], throttles: Throttles) -> float:
    """The busiest port: bytes over what its throttle leaves for copies."""
    out: dict[int, int] = defaultdict(int)
    into: dict[int, int] = defaultdict(int)
    for copy in copies:
        out[copy.leader] += copy.each * len(copy.into)
        for target in copy.into:
            into[target] += copy.each
    busy = [n / throttles.out_rate(number, b) for b, n in out.items()]
    busy += [n / throttles.in_rate(number, b) for b, n in into.items()]
    return max(busy, default=0.0)
