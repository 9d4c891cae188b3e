"""What each partition weighs and what each broker bears: eight figures per replica, so that one kernel serves all
goals.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from planner.drain.model.hardware import unknown_hardware
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Floats, Int32s


class Figure(IntEnum):
    """Columns of the load arrays. The last four depend on who leads (CPU on both)."""

    REPLICAS = 0
    DISK = 1
    NIC_IN = 2
    POTENTIAL_OUT = 3
    NIC_OUT = 4
    CPU = 5
    LEADERS = 6
    LEADER_IN = 7


FIGURES = len(Figure)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Loads:
    """`following`, `leading`: float64[P, 8], what one follower adds to its broker and what leading adds on top.

    `capacity`: float64[B, 8], inf where a figure has none or nobody knows it. `known`: bool[8], false where nobody
    measured the figure: its goals are then not judged. `assumptions`: what had to be taken for granted, for the report.
    """

    following: Floats
    leading: Floats
    capacity: Floats
    known: Bools
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredLoads:
    """Figures the state file does not carry; None = unknown.

    `nic_in_bytes_per_s`, `nic_out_bytes_per_s`: float64[B], the whole NIC, NaN where unknown; before the state's own
    (`ClusterState.hardware`). The state's bandwidths are what migration may use, and no NIC. `cpu`: float64[B]
    capacity; `cpu_leading`, `cpu_following`: float64[P], what a leader and a follower of
    the partition use, same unit. `out_bytes_per_s`: float64[P], everything a leader sends, where it was measured as
    one figure instead of derived from write and read rates.
    """

    nic_in_bytes_per_s: Floats | None = None
    nic_out_bytes_per_s: Floats | None = None
    cpu: Floats | None = None
    cpu_leading: Floats | None = None
    cpu_following: Floats | None = None
    out_bytes_per_s: Floats | None = None


def loads_of(state: ClusterState, measured: MeasuredLoads) -> Loads:
    """A leader sends each write to its followers and to consumers: out = write x (replicas - 1) + read.

    Every replica takes `write`. Potential out: what a broker would send if it led all it holds.
    """
    parts, brokers = state.partitions, len(state.brokers)
    known = np.ones(FIGURES, dtype=np.bool_)
    assumptions: list[str] = []
    write = _rates(parts.write_bytes_per_s, "write", assumptions)
    out = _out(state, measured, write, assumptions)
    known[[Figure.NIC_IN, Figure.LEADER_IN]] = not np.isnan(parts.write_bytes_per_s).all()
    known[[Figure.NIC_OUT, Figure.POTENTIAL_OUT]] = bool(out.any())
    following, leading = np.zeros((2, len(parts), FIGURES))
    following[:, Figure.REPLICAS] = 1
    following[:, Figure.DISK] = parts.size_bytes
    following[:, Figure.NIC_IN] = write
    following[:, Figure.POTENTIAL_OUT] = out
    leading[:, Figure.NIC_OUT] = out
    leading[:, Figure.LEADERS] = 1
    leading[:, Figure.LEADER_IN] = write
    capacity = np.full((brokers, FIGURES), np.inf)
    capacity[:, Figure.DISK] = state.brokers.disk_bytes
    known[Figure.CPU] = (
        measured.cpu is not None and measured.cpu_leading is not None and measured.cpu_following is not None
    )
    if measured.cpu is not None and measured.cpu_leading is not None and measured.cpu_following is not None:
        following[:, Figure.CPU] = measured.cpu_following
        leading[:, Figure.CPU] = measured.cpu_leading - measured.cpu_following
        capacity[:, Figure.CPU] = measured.cpu
    loads = Loads(following=following, leading=leading, capacity=capacity, known=known)
    _nic_capacity(state, loads, measured, assumptions)
    return Loads(following=following, leading=leading, capacity=capacity, known=known, assumptions=tuple(assumptions))


def leader_places(state: ClusterState) -> Int32s:
    """int32[P]: the place in its list of who leads after a preferred election; NO_BROKER for an empty list.

    The first replica, unless it cannot lead (out of sync or dead): then the leader now, then the first in sync.
    """
    parts = state.partitions
    able = parts.in_sync & (parts.replicas != NO_BROKER) & (state.brokers.state != BrokerState.DEAD)[parts.replicas]
    first = np.argmax(able, axis=1).astype(np.int32)
    now = (parts.replicas == parts.leader[:, None]) & able
    place = np.where(able[:, 0], 0, np.where(now.any(axis=1), now.argmax(axis=1), first))
    return np.where(able.any(axis=1), place, np.where(parts.replicas[:, 0] == NO_BROKER, NO_BROKER, 0)).astype(np.int32)


def led_now(state: ClusterState) -> Int32s:
    """int32[P]: the broker that leads after a preferred election of the lists as they are, NO_BROKER where none can."""
    place = leader_places(state)
    leader = state.partitions.replicas[np.arange(place.size), place]
    return np.where(place == NO_BROKER, NO_BROKER, leader).astype(np.int32)


def borne(loads: Loads, replicas: Int32s, leader: Int32s) -> Floats:
    """float64[B, 8] under a placement; `leader`: int32[P] broker rows, NO_BROKER = led by nobody."""
    total = np.zeros(loads.capacity.shape)
    brokers = len(loads.capacity)
    # NO_BROKER is -1: bin 0, dropped. Not masked: copying a column eight times costs more than the sum.
    columns = [*(np.ascontiguousarray(replicas[:, i]) + 1 for i in range(replicas.shape[1])), leader + 1]
    for figure in range(FIGURES):
        for holders in columns:
            weight = (loads.leading if holders is columns[-1] else loads.following)[:, figure]
            if weight.any():
                total[:, figure] += np.bincount(holders, weights=weight, minlength=brokers + 1)[1:]
    return total


def _rates(rate: Floats, what: str, assumptions: list[str]) -> Floats:
    missing = int(np.isnan(rate).sum())
    if missing:
        assumptions.append(f"{missing} of {rate.size} partitions have no measured {what} rate: counted as 0")
    return np.nan_to_num(rate)


def _out(state: ClusterState, measured: MeasuredLoads, write: Floats, assumptions: list[str]) -> Floats:
    if measured.out_bytes_per_s is not None:
        return _rates(measured.out_bytes_per_s, "out", assumptions)
    parts = state.partitions
    followers = np.maximum((parts.replicas != NO_BROKER).sum(axis=1) - 1, 0)
    out: Floats = write * followers + _rates(parts.read_bytes_per_s, "read", assumptions)
    return out


def _nic_capacity(state: ClusterState, loads: Loads, measured: MeasuredLoads, assumptions: list[str]) -> None:
    """The NIC's own figure, whatever the broker bears and whatever moves may use: inf where nobody knows it, and shares
    are then equal. (A guess from its load
    would make the busier of two equal brokers the larger one.)
    """
    there = state.hardware or unknown_hardware(len(state.brokers))
    given = {
        Figure.NIC_IN: (measured.nic_in_bytes_per_s, there.nic_in_bytes_per_s, "network in"),
        Figure.NIC_OUT: (measured.nic_out_bytes_per_s, there.nic_out_bytes_per_s, "network out"),
    }
    for figure, (own, of_state, words) in given.items():
        nic = of_state if own is None else own
        missing = int(np.isnan(nic).sum())
        if missing:
            assumptions.append(
                f"{words} of {missing} of {nic.size} brokers not known: all get equal shares of it, and no ceiling is "
                "judged where it is not"
            )
        loads.capacity[:, figure] = np.where(np.isnan(nic), np.inf, nic)
    loads.capacity[:, Figure.POTENTIAL_OUT] = loads.capacity[:, Figure.NIC_OUT]
    loads.capacity[:, Figure.LEADER_IN] = loads.capacity[:, Figure.NIC_IN]
