"""The state file (JSON, version 1) as arrays and back: the offline format of a cluster.

Ids become rows here and nowhere else. Every problem of a file is found before it is refused.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from pydantic_core import to_json

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.drain.model.files import BrokerEntry, PartitionEntry, StateFile, checked_state, parse_state
from planner.drain.model.hardware import disk_figures, hardware_of, known_of
from planner.drain.model.log_dirs import as_document, log_dir_problems, log_dirs_of
from planner.drain.model.problem import DocumentRefused, StateProblem, StateProblemKind
from planner.drain.model.state import (
    NO_BROKER,
    Bools,
    Brokers,
    BrokerState,
    ClusterState,
    Floats,
    Int32s,
    Int64s,
    Partitions,
)

_FIGURES = ("disk_bytes", "ingress_bytes_per_s", "egress_bytes_per_s")


@dataclass(frozen=True, slots=True, eq=False)
class ReadState:
    """`assumptions`: one line per figure the file does not give; they belong on the certificate."""

    state: ClusterState
    assumptions: tuple[str, ...]


def read_state(data: bytes | str, *, tolerate: Collection[StateProblemKind] = ()) -> ReadState:
    """Arrays of a state file. Raises DocumentRefused with every problem, except of kinds in `tolerate`
    (REPAIR_FIRST alone makes sense: the planner then has to leave such partitions out).
    """
    return _read(parse_state(data), tolerate)


def read_document(document: Mapping[str, Any], *, tolerate: Collection[StateProblemKind] = ()) -> ReadState:
    """As `read_state`, of a document in memory: the same arrays and problems as of its JSON, in a third of the time."""
    return _read(checked_state(document), tolerate)


def _read(file: StateFile, tolerate: Collection[StateProblemKind]) -> ReadState:
    problems = [p for p in _problems(file) if p.kind not in tolerate]
    if problems:
        raise DocumentRefused("state file", problems)
    state = _state_of(file)
    problems = [p for p in _repairs(state) if p.kind not in tolerate]
    if problems:
        raise DocumentRefused("state file", problems)
    return ReadState(state=state, assumptions=tuple(_assumptions(file, state)))


def state_json(state: ClusterState) -> bytes:
    """The state file of these arrays; `read_state` gives the arrays back."""
    return to_json(state_document(state))


def state_document(state: ClusterState) -> dict[str, Any]:
    """As `state_json`, before it becomes text. Unknown rates are left out."""
    brokers = state.brokers
    document: dict[str, Any] = {
        "version": 1,
        "disk_limit": state.disk_limit,
        "flow_bytes_per_s": state.flow_bytes_per_s,
        "brokers": [{**_broker_entry(brokers, row), **known_of(state.hardware, row)} for row in range(len(brokers))],
        "partitions": _partition_entries(state),
        **sets_entry(state.sets),
    }
    if state.destinations:
        ids = brokers.id.tolist()
        document["destinations"] = {str(ids[b]): [ids[t] for t in to] for b, to in sorted(state.destinations.items())}
    return as_document(state, document)


def unknown_rates(state: ClusterState) -> tuple[str, ...]:
    """An assumption per rate that is not known of every partition."""
    lines = []
    for name, rates, meaning in (
        ("write rates", state.partitions.write_bytes_per_s, "copies do not grow and in-sync followers charge nothing"),
        ("read rates", state.partitions.read_bytes_per_s, "leaders cost nothing to serve"),
    ):
        missing = int(np.isnan(rates).sum())
        if missing:
            lines.append(f"{name} of {missing} of {rates.size} partitions are unknown: planned as if {meaning}")
    return tuple(lines)


def _assumptions(file: StateFile, state: ClusterState) -> Iterator[str]:
    yield from file.get("assumptions", ())
    missing = sum("min_isr" not in p for p in file["partitions"])
    if missing:
        yield f"min ISR of {missing} of {len(state.partitions)} partitions is unknown: one less than the replicas"
    unsaid = sum("state" not in b for b in file["brokers"])
    if unsaid:
        yield f"{unsaid} of {len(state.brokers)} brokers have no state: taken as active"
    yield from unknown_rates(state)
    yield from _unknown_volumes(state)


def _unknown_volumes(state: ClusterState) -> Iterator[str]:
    """Of how many brokers nobody knows what their volumes do: a limit that is not known binds nobody."""
    alive = state.brokers.state != BrokerState.DEAD
    figures = () if state.hardware is None else disk_figures(state.hardware)
    known = np.zeros(alive.size, dtype=np.bool_)
    for figure in figures:
        known |= ~np.isnan(figure)
    unknown = int((alive & ~known).sum())
    if unknown:
        total = int(alive.sum())
        yield f"what the volumes of {unknown} of {total} brokers do is not known: taken to keep up with the network"


def _problems(file: StateFile) -> Iterator[StateProblem]:
    """What fields say about each other. Unknown brokers are looked for all at once: files are large."""
    ids = [b["id"] for b in file["brokers"]]
    known = set(ids)
    yield from _twice("brokers", ids, "broker {}")
    for index, broker in enumerate(file["brokers"]):
        yield from _broker_problems(index, broker)
    yield from _twice("partitions", [(p["topic"], p["partition"]) for p in file["partitions"]], "{0[0]}-{0[1]}")
    for index, entry in enumerate(file["partitions"]):
        if not _is_sound(entry, known):
            yield from _partition_problems(f"partitions[{index}]", entry, known)
    yield from log_dir_problems(file)
    yield from _destination_problems(file, known)


def _twice(path: str, names: Sequence[Any], form: str) -> Iterator[StateProblem]:
    if len(set(names)) == len(names):
        return
    first: dict[Any, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            message = f"{form.format(name)} is already {path}[{first[name]}]"
            yield StateProblem(StateProblemKind.TWICE, f"{path}[{index}]", message)


def _broker_problems(index: int, broker: BrokerEntry) -> Iterator[StateProblem]:
    if broker.get("state") == "dead":
        return
    for name in _FIGURES:
        if name not in broker:
            message = f"is missing: broker {broker['id']} is not dead, so it is needed"
            yield StateProblem(StateProblemKind.SHAPE, f"brokers[{index}].{name}", message)


def _is_sound(entry: PartitionEntry, known: set[int]) -> bool:
    """The common case, fast; `_partition_problems` says what is wrong with the others."""
    replicas, leader = set(entry["replicas"]), entry["leader"]
    in_sync = set(entry["isr"])
    return (
        len(replicas) == len(entry["replicas"])
        and len(in_sync) == len(entry["isr"])
        and replicas <= known
        and in_sync <= replicas
        and (leader is None or leader == NO_BROKER or leader in in_sync)
        and entry.get("min_isr", 1) <= len(replicas)
    )


def _partition_problems(path: str, entry: PartitionEntry, known: set[int]) -> Iterator[StateProblem]:
    name = f"{entry['topic']}-{entry['partition']}"
    replicas, isr, leader = entry["replicas"], entry["isr"], entry["leader"]
    for field, ids in (("replicas", replicas), ("isr", isr)):
        for index, broker in enumerate(ids):
            if broker not in known:
                message = f"{name}: no broker {broker} in this file"
                yield StateProblem(StateProblemKind.UNKNOWN, f"{path}.{field}[{index}]", message)
            elif broker in ids[:index]:
                yield StateProblem(
                    StateProblemKind.TWICE, f"{path}.{field}[{index}]", f"{name}: broker {broker} named twice"
                )
    for index, broker in enumerate(isr):
        if broker in known and broker not in replicas:
            message = f"{name}: broker {broker} is in sync but holds no replica"
            yield StateProblem(StateProblemKind.CONTRADICTION, f"{path}.isr[{index}]", message)
    if leader is not None and leader not in {NO_BROKER, *isr}:
        kind = StateProblemKind.CONTRADICTION if leader in known else StateProblemKind.UNKNOWN
        why = "is not in the ISR" if leader in known else "is not in this file"
        yield StateProblem(kind, f"{path}.leader", f"{name}: leader {leader} {why}")
    if entry.get("min_isr", 1) > len(replicas):
        message = f"{name}: {entry['min_isr']} of {len(replicas)} replicas can never be in sync"
        yield StateProblem(StateProblemKind.CONTRADICTION, f"{path}.min_isr", message)


def _destination_problems(file: StateFile, known: set[int]) -> Iterator[StateProblem]:
    states = {b["id"]: b.get("state", "active") for b in file["brokers"]}
    for source, targets in file.get("destinations", {}).items():
        path = f"destinations.{source}"
        if int(source) not in known:
            yield StateProblem(StateProblemKind.UNKNOWN, path, f"no broker {source} in this file")
        elif states[int(source)] not in ("outgoing", "dead"):
            message = f"broker {source} is {states[int(source)]}: nothing leaves it"
            yield StateProblem(StateProblemKind.CONTRADICTION, path, message)
        for index, target in enumerate(targets):
            if target not in known:
                yield StateProblem(StateProblemKind.UNKNOWN, f"{path}[{index}]", f"no broker {target} in this file")
            elif states[target] not in ("active", "new"):
                message = f"broker {target} is {states[target]} and may not receive"
                yield StateProblem(StateProblemKind.CONTRADICTION, f"{path}[{index}]", message)


def _repairs(state: ClusterState) -> Iterator[StateProblem]:
    """H3: a partition that has to move while a replica on a living broker is out of sync is to be repaired first."""
    parts, brokers = state.partitions, state.brokers
    held = parts.replicas != NO_BROKER
    leaves = (brokers.must_empty[parts.replicas] & held).any(axis=1)
    lags = held & ~parts.in_sync & (brokers.state != BrokerState.DEAD)[parts.replicas]
    for row in np.flatnonzero(leaves & lags.any(axis=1)).tolist():
        late = brokers.id[parts.replicas[row][lags[row]]].tolist()
        name = f"{parts.topics[parts.topic[row]]}-{parts.partition[row]}"
        message = f"{name} has to move but broker {', '.join(map(str, late))} is out of sync: repair it first"
        yield StateProblem(StateProblemKind.REPAIR_FIRST, f"partitions[{row}].isr", message)


def _state_of(file: StateFile) -> ClusterState:
    brokers = _brokers_of(file["brokers"])
    partitions = _partitions_of(file["partitions"], brokers.id)
    row_of = {int(broker): row for row, broker in enumerate(brokers.id)}
    return ClusterState(
        brokers=brokers,
        partitions=partitions,
        disk_limit=file["disk_limit"],
        flow_bytes_per_s=file["flow_bytes_per_s"],
        destinations={
            row_of[int(source)]: tuple(sorted({row_of[t] for t in targets}))
            for source, targets in file.get("destinations", {}).items()
        },
        log_dirs=log_dirs_of(file, brokers.id, partitions.replicas),
        hardware=hardware_of(sorted(file["brokers"], key=lambda b: b["id"])),
        sets=_sets_of(file),
    )


def _sets_of(file: StateFile) -> BrokerSets:
    sets = file.get("broker_sets")
    return BrokerSets({int(b): own for b, own in sets["brokers"].items()}, sets["topics"]) if sets else NO_SETS


def sets_entry(sets: BrokerSets) -> dict[str, Any]:
    """`broker_sets` of a state file, as an entry of it; nothing where there are none."""
    brokers = {str(b): own for b, own in sorted(sets.of_broker.items())}
    return {"broker_sets": {"brokers": brokers, "topics": dict(sorted(sets.of_topics.items()))}} if sets else {}


def _brokers_of(entries: list[BrokerEntry]) -> Brokers:
    ordered = sorted(entries, key=lambda b: b["id"])
    racks = tuple(sorted({b["rack"] for b in ordered}))
    code = {rack: i for i, rack in enumerate(racks)}
    return Brokers(
        id=np.array([b["id"] for b in ordered], dtype=np.int32),
        rack=np.array([code[b["rack"]] for b in ordered], dtype=np.int32),
        racks=racks,
        state=np.array([BrokerState[b.get("state", "active").upper()] for b in ordered], dtype=np.int8),
        disk_bytes=np.array([b.get("disk_bytes", 0) for b in ordered], dtype=np.int64),
        ingress_bytes_per_s=np.array([b.get("ingress_bytes_per_s", 0.0) for b in ordered], dtype=np.float64),
        egress_bytes_per_s=np.array([b.get("egress_bytes_per_s", 0.0) for b in ordered], dtype=np.float64),
    )


def _partitions_of(entries: list[PartitionEntry], ids: Int32s) -> Partitions:
    topics = tuple(sorted({p["topic"] for p in entries}))
    code = {topic: i for i, topic in enumerate(topics)}
    replicas = broker_rows([p["replicas"] for p in entries], ids)
    isr = broker_rows([p["isr"] for p in entries], ids)
    leader = broker_rows([[] if p["leader"] in (None, NO_BROKER) else [p["leader"]] for p in entries], ids)
    return Partitions(
        topics=topics,
        topic=np.array([code[p["topic"]] for p in entries], dtype=np.int32),
        partition=np.array([p["partition"] for p in entries], dtype=np.int32),
        replicas=replicas,
        in_sync=_named_in(replicas, isr),
        leader=leader[:, 0],
        min_isr=np.array([p.get("min_isr", max(1, len(p["replicas"]) - 1)) for p in entries], dtype=np.int32),
        size_bytes=np.array([p["size_bytes"] for p in entries], dtype=np.int64),
        write_bytes_per_s=_rates([p.get("write_bytes_per_s") for p in entries]),
        read_bytes_per_s=_rates([p.get("read_bytes_per_s") for p in entries]),
    )


def broker_rows(lists: Sequence[Sequence[int]], ids: Int32s) -> Int32s:
    """Ragged lists of known ids as rows: int32[len(lists), longest], padded on the right with NO_BROKER."""
    lengths: Int64s = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    matrix = np.full((len(lists), max(1, int(lengths.max(initial=1)))), NO_BROKER, dtype=np.int32)
    named = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = np.searchsorted(ids, named)
    return matrix


def _named_in(replicas: Int32s, isr: Int32s) -> Bools:
    found = np.zeros(replicas.shape, dtype=np.bool_)
    for column in range(isr.shape[1]):
        found |= replicas == isr[:, column, None]
    found &= replicas != NO_BROKER
    return found


def _rates(values: list[float | None]) -> Floats:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _broker_entry(brokers: Brokers, row: int) -> dict[str, Any]:
    state = BrokerState(int(brokers.state[row]))
    entry = {
        "id": int(brokers.id[row]),
        "rack": brokers.racks[int(brokers.rack[row])],
        "disk_bytes": int(brokers.disk_bytes[row]),
        "ingress_bytes_per_s": float(brokers.ingress_bytes_per_s[row]),
        "egress_bytes_per_s": float(brokers.egress_bytes_per_s[row]),
        "state": state.name.lower(),
    }
    if state == BrokerState.DEAD:
        return {name: value for name, value in entry.items() if name not in _FIGURES or value}
    return entry


def _partition_entries(state: ClusterState) -> list[dict[str, Any]]:
    parts = state.partitions
    ids = [*state.brokers.id.tolist(), NO_BROKER]
    names = [parts.topics[t] for t in parts.topic.tolist()]
    entries = []
    columns = (
        names, parts.partition.tolist(), parts.replicas.tolist(), parts.in_sync.tolist(), parts.leader.tolist(),
        parts.min_isr.tolist(), parts.size_bytes.tolist(), parts.write_bytes_per_s.tolist(),
        parts.read_bytes_per_s.tolist(),
    )  # fmt: skip
    for topic, number, replicas, in_sync, leader, min_isr, size, write, read in zip(*columns, strict=True):
        entry: dict[str, Any] = {
            "topic": topic,
            "partition": number,
            "replicas": [ids[b] for b in replicas if b != NO_BROKER],
            "leader": ids[leader],
            "isr": [ids[b] for b, good in zip(replicas, in_sync, strict=True) if good and b != NO_BROKER],
            "size_bytes": size,
            "min_isr": min_isr,
        }
        if write == write:
            entry["write_bytes_per_s"] = write
        if read == read:
            entry["read_bytes_per_s"] = read
        entries.append(entry)
    return entries
