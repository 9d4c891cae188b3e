"""Why entries found no targets: too few brokers, destinations that may not take them, or no disk with room.

Asked in that order, so that no limit somebody set is told as one of the machines: where another destination would do,
neither a broker nor disk is missing.
"""

from collections.abc import Sequence

from planner.drain.model.state import NO_RACK, ClusterState, Floats, Int64s
from planner.drain.solver.demand import Demand
from planner.drain.solver.destinations import others_have_room, wrong_destinations
from planner.drain.solver.infeasible import Obstacle, partitions_named
from planner.drain.solver.unplaced import Unplaced, each_unplaced, places, rows_of
from planner.quantities import human_bytes


def no_place(state: ClusterState, demand: Demand, unplaced: Int64s, left: Floats) -> tuple[Obstacle, ...]:
    """`unplaced`: entries for which the search found no targets. `left`: float64[B], bytes each broker may still take
    below the disk limit beside all that was placed; below 0 where it may take nothing.
    """
    few: list[Unplaced] = []
    sent: list[Unplaced] = []
    full: list[Unplaced] = []
    for entry in each_unplaced(state, demand, unplaced):
        if int(entry.legal.sum()) < len(entry.homes):
            few.append(entry)
        elif entry.is_sent and _others_would_do(state, entry, left):
            sent.append(entry)
        else:
            full.append(entry)
    return (
        *([_few_brokers(state, few)] if few else []),
        *wrong_destinations(state, sent, left),
        *([_no_disk(state, full)] if full else []),
    )


def _others_would_do(state: ClusterState, entry: Unplaced, left: Floats) -> bool:
    """Its destinations may not hold it at all, or none of them has room where others have."""
    return places(state, entry, entry.allowed) is None or others_have_room(state, entry, left)


def _few_brokers(state: ClusterState, entries: Sequence[Unplaced]) -> Obstacle:
    """In each rack the most that any one of them lacks there."""
    missing: dict[str, int] = {}
    for entry in entries:
        lacking = entry.homes[: len(entry.homes) - int(entry.legal.sum())]
        racks = [_rack(state, home) for home in lacking]
        for rack in set(racks):
            missing[rack] = max(missing.get(rack, 0), racks.count(rack))
    rows = rows_of(entries)
    add = _joined([f"{_brokers(count)}{_in_rack(state, rack)}" for rack, count in sorted(missing.items())])
    return Obstacle("broker", f"{partitions_named(state, rows)} cannot move: add {add}", rows, f"add {add}")


def _no_disk(state: ClusterState, entries: Sequence[Unplaced]) -> Obstacle:
    """Bytes by rack, or by the broker that is the only one they are sent to."""
    needed: dict[str, float] = {}
    for entry in entries:
        for home, sent in zip(entry.homes, entry.sent, strict=True):
            only = state.destinations[home] if sent else ()
            to = f" to broker {int(state.brokers.id[only[0]])}" if len(only) == 1 else ""
            where = to + _in_rack(state, _rack(state, only[0] if to else home))
            needed[where] = needed.get(where, 0.0) + entry.size
    rows = rows_of(entries)
    add = ", ".join(f"{human_bytes(size)}{where}" for where, size in sorted(needed.items()))
    found = f"{partitions_named(state, rows)} found no disk below the limit of {state.disk_limit:.0%}"
    return Obstacle("disk", f"{found}: add {add}", rows, f"add {add}")


def _rack(state: ClusterState, broker: int) -> str:
    return state.brokers.racks[int(state.brokers.rack[broker])]


def _in_rack(state: ClusterState, rack: str) -> str:
    """Nothing where no broker has a rack."""
    return "" if state.brokers.racks in ((NO_RACK,), ("",)) else f" in rack {rack}"


def _brokers(count: int) -> str:
    return "a broker" if count == 1 else f"{count} brokers"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
