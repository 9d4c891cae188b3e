"""How the leaving bytes can be taken in: the flow behind the ingress bound (L2a) and the disk frontier (L3).

Classes of partitions send into *pools*: a rack's brokers where any of them will do, a single broker where it
matters which. What has no choice (racks = RF, one successor) is a plain sum; only what is left is a linear program.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.drain.bounds.demand import BoundDemand, Need
from planner.drain.bounds.program import Program
from planner.drain.model.state import Bools, ClusterState, Floats

Pool = frozenset[int]


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """`total` bytes that may be split over pools, at most `each` into one pool.

    `apart`: at most `each` into all pools of one rack. Else, of at least `in_new` bytes at most `each` count per
    rack of `new_racks`.
    """

    total: float
    each: float
    pools: tuple[Pool, ...]
    apart: bool = True
    in_new: float = 0.0
    new_racks: frozenset[int] = frozenset()

    @property
    def copies(self) -> int:
        return round(self.total / self.each)


@dataclass(frozen=True, slots=True, eq=False)
class BoundIntake:
    """`forced`: bytes per pool without a choice. `choices`: the rest. `impossible`: a copy has nowhere to go."""

    forced: Mapping[Pool, float]
    choices: tuple[PoolChoice, ...]
    impossible: bool
    ingress: Floats
    disk: Floats
    used: Floats
    rack: tuple[int, ...]
    receives: Bools

    def least_time_s(self) -> float:
        """L2a. The smallest T with all bytes taken in and no broker over T x its ingress; inf when impossible.

        For every set of targets S that alone may take some copies: bytes(S) / ingress(S); the maximum over S is
        this flow's value (max-flow min-cut), found by LP on classes, independent of the number of partitions.
        """
        if self.impossible:
            return float("inf")
        if not self.choices and self._disjoint:
            return max(
                (_ratio(size, self.ingress[list(pool)].sum()) for pool, size in self.forced.items()), default=0.0
            )
        program, takes = self._program()
        time = program.variable()
        for broker, flows in takes.items():
            program.at_most([*flows, time], [1.0] * len(flows) + [-self.ingress[broker] / self._unit], 0.0)
        return program.least(time)

    def least_fill(self, makespan_s: float) -> float:
        """L3, D*(T): the smallest largest fill after the plan over brokers that may receive.

        Water filling: a target takes at most min(T x ingress, D x disk - used). Never below the fullest now,
        because nothing leaves a broker that stays. inf when T is too short.
        """
        fullest = float((self.used / self.disk)[self.receives].max(initial=0.0))
        if self.impossible:
            return float("inf")
        if not self.choices and self._disjoint:
            return max((self._water_level(p, size, makespan_s) for p, size in self.forced.items()), default=fullest)
        program, takes = self._program()
        level = program.variable()
        for broker, flows in takes.items():
            ones = [1.0] * len(flows)
            program.at_most(flows, ones, makespan_s * (1 + 1e-9) * self.ingress[broker] / self._unit)
            program.at_most([*flows, level], [*ones, -self.disk[broker] / self._unit], -self.used[broker] / self._unit)
        program.at_most([level], [-1.0], -fullest)
        return program.least(level)

    @property
    def _unit(self) -> float:
        """Bytes per unit of the programs: a thousandth of all that arrives, far from HiGHS' tolerances of 1e-7."""
        return max(sum(self.forced.values()) + sum(c.total for c in self.choices), 1.0) / 1000

    @property
    def _disjoint(self) -> bool:
        return sum(map(len, self.forced)) == len(frozenset().union(*self.forced))

    def _water_level(self, pool: Pool, size: float, makespan_s: float) -> float:
        """Bisection on D between the fullest now and every target taking for the whole time."""
        rows = list(pool)
        most = makespan_s * self.ingress[rows]
        if most.sum() < size * (1 - 1e-9):
            return float("inf")
        low = float((self.used / self.disk)[self.receives].max(initial=0.0))
        high = max(low, float(((self.used[rows] + most) / self.disk[rows]).max()))
        for _ in range(100):
            middle = (low + high) / 2
            takes = np.minimum(most, np.maximum(0.0, middle * self.disk[rows] - self.used[rows])).sum()
            low, high = (low, middle) if takes >= size else (middle, high)
        return high

    def _program(self) -> tuple[Program, dict[int, list[int]]]:
        """The flow's rows, and per broker the variables that end in it (GB)."""
        program = Program()
        into: dict[Pool, list[int]] = {}
        for choice in self.choices:
            self._add(program, choice, into)
        takes: dict[int, list[int]] = {}
        for pool in {*into, *self.forced}:
            spread = [(broker, program.variable()) for broker in sorted(pool)]
            for broker, variable in spread:
                takes.setdefault(broker, []).append(variable)
            arriving = into.get(pool, [])
            program.equal(
                [v for _, v in spread] + arriving,
                [1.0] * len(spread) + [-1.0] * len(arriving),
                self.forced.get(pool, 0.0) / self._unit,
            )
        return program, takes

    def _add(self, program: Program, choice: PoolChoice, into: dict[Pool, list[int]]) -> None:
        flows = [(pool, program.variable()) for pool in choice.pools]
        for pool, variable in flows:
            into.setdefault(pool, []).append(variable)
        program.equal([v for _, v in flows], [1.0] * len(flows), choice.total / self._unit)
        by_rack: dict[int, list[int]] = {}
        for pool, variable in flows:
            by_rack.setdefault(self.rack[min(pool)], []).append(variable)
        for together in by_rack.values() if choice.apart else [[v] for _, v in flows]:
            program.at_most(together, [1.0] * len(together), choice.each / self._unit)
        if not choice.in_new:
            return
        counted = []
        for rack in sorted(choice.new_racks & by_rack.keys()):
            part = program.variable()
            counted.append(part)
            program.at_most([part], [1.0], choice.each / self._unit)
            program.at_most([part, *by_rack[rack]], [1.0] + [-1.0] * len(by_rack[rack]), 0.0)
        program.at_most(counted, [-1.0] * len(counted), -choice.in_new / self._unit)


def intake_of(state: ClusterState, demand: BoundDemand, used: Floats) -> BoundIntake:
    """`used`: bytes per broker now."""
    brokers = state.brokers
    racks = {
        int(code): frozenset(np.flatnonzero(brokers.may_receive & (brokers.rack == code)).tolist())
        for code in np.unique(brokers.rack[brokers.may_receive])
    }
    forced: dict[Pool, float] = {}
    choices: dict[tuple[object, ...], PoolChoice] = {}
    impossible = False
    for need, size in zip(demand.needs, demand.size.tolist(), strict=True):
        for choice in _choices(need, float(size), racks):
            if len(choice.pools) < choice.copies:
                impossible = True
            elif len(choice.pools) == choice.copies and not choice.in_new:
                for pool in choice.pools:
                    forced[pool] = forced.get(pool, 0.0) + choice.each
            else:
                _merge(choices, choice)
    return BoundIntake(
        forced=forced,
        choices=tuple(choices.values()),
        impossible=impossible,
        ingress=brokers.ingress_bytes_per_s,
        disk=np.maximum(brokers.disk_bytes, 1).astype(np.float64),
        used=used.astype(np.float64),
        rack=tuple(brokers.rack.tolist()),
        receives=brokers.may_receive,
    )


def _choices(need: Need, size: float, racks: Mapping[int, Pool]) -> Iterator[PoolChoice]:
    if not size:
        return
    for targets in need.named:
        yield PoolChoice(total=size, each=size, pools=tuple(frozenset({t}) for t in sorted(targets)), apart=False)
    if not need.free:
        return
    if need.new_racks == need.free:
        pools = tuple(pool for rack, pool in sorted(racks.items()) if rack not in need.racks)
        yield PoolChoice(total=size * need.free, each=size, pools=pools)
        return
    loose: list[Pool] = []
    for pool in racks.values():
        rest = pool - need.holders
        loose += [pool] if rest == pool and need.free == 1 else [frozenset({b}) for b in sorted(rest)]
    yield PoolChoice(
        total=size * need.free,
        each=size,
        pools=tuple(loose),
        apart=False,
        in_new=size * need.new_racks,
        new_racks=frozenset(racks) - need.racks,
    )


def _merge(choices: dict[tuple[object, ...], PoolChoice], choice: PoolChoice) -> None:
    """Classes with the same pools and the same shape are one."""
    key = (choice.pools, choice.copies, choice.apart, round(choice.in_new / choice.each), choice.new_racks)
    known = choices.get(key)
    choices[key] = choice if known is None else _sum(known, choice)


def _sum(left: PoolChoice, right: PoolChoice) -> PoolChoice:
    return replace(left, total=left.total + right.total, each=left.each + right.each, in_new=left.in_new + right.in_new)


def _ratio(size: float, rate: float) -> float:
    return size / rate if rate > 0 else float("inf")
