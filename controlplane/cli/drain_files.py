"""What a plan leaves on disk: the plan file, Kafka's own reassignment JSON with its way back, throttles as commands."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from controlplane.cli.errors import CliError
from controlplane.kafka.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from controlplane.runtime.atomic_file import replacing
from planner.drain.model.kafka_json import reassignments, rollbacks
from planner.drain.model.measures import Measures
from planner.drain.model.plan import Schedule
from planner.drain.model.plan_document import plan_json
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState
from planner.drain.replay.entries import entries_of
from planner.drain.replay.run import capacities

BOOTSTRAP = "$BOOTSTRAP"


def write_plan(path: Path, state: ClusterState, schedule: Schedule, measures: Measures | None) -> None:
    """The plan file. Raises CliError."""
    write_whole(path, plan_json(state, schedule, measures) + b"\n")


def write_kafka_json(path: Path, state: ClusterState, schedule: Schedule) -> list[Path]:
    """One file per checkpoint, to be executed one after the other, each with its rollback. Raises CliError.

    A plan with one checkpoint is FILE and FILE's stem with `.rollback`; of several the n-th is `stem.n.json`.
    """
    forward, back = list(reassignments(state, schedule)), list(rollbacks(state, schedule))
    written = []
    for number, pair in enumerate(zip(forward, back, strict=True), 1):
        part = f".{number:0{len(str(len(forward)))}}" if len(forward) > 1 else ""
        for kind, content in zip(("", ".rollback"), pair, strict=True):
            target = path.with_name(f"{path.stem}{part}{kind}{path.suffix or '.json'}")
            write_whole(target, json.dumps(content).encode() + b"\n")
            written.append(target)
    return written


def write_throttles(path: Path, state: ClusterState, schedule: Schedule) -> None:
    """Commands that set the throttles of the plan, and as comments those that remove them. Raises CliError."""
    write_whole(path, "".join(f"{line}\n" for line in throttle_lines(state, schedule)).encode())


def throttle_lines(state: ClusterState, schedule: Schedule) -> Iterator[str]:
    """Rates on the brokers that take part: the plan's throttle, else what migration may use of the broker. Lists on
    the topics: every old replica is a possible source, every new one a target. A dead broker is left out: asking for
    its configs hangs (KAFKA-13392).
    """
    rates, lists = _rates(state, schedule), _lists(state, schedule)
    yield "# Before the reassignment. BOOTSTRAP=host:port"
    for broker, settings in rates.items():
        yield _configs("brokers", broker, "--add-config", ",".join(f"{k}={v}" for k, v in settings.items()))
    for topic, replicas in lists.items():
        joined = ",".join(f"{key}=[{','.join(values)}]" for key, values in replicas.items())
        yield _configs("topics", topic, "--add-config", joined)
    yield "# When it is over, remove them: a throttle left behind slows every later catch-up."
    for broker, settings in rates.items():
        yield "# " + _configs("brokers", broker, "--delete-config", ",".join(settings))
    for topic in lists:
        yield "# " + _configs("topics", topic, "--delete-config", f"{LEADER_REPLICAS},{FOLLOWER_REPLICAS}")


def write_whole(path: Path, content: bytes) -> None:
    """The file, whole or not at all. Raises CliError."""
    try:
        with replacing(path) as fresh:
            fresh.write_bytes(content)
    except OSError as error:
        raise CliError("cannot write the file", where=str(path), why=error.strerror or "") from None


def _rates(state: ClusterState, schedule: Schedule) -> Mapping[str, Mapping[str, int]]:
    entries = entries_of(state, schedule)
    takes, gives = capacities(state, schedule)
    moved = entries.row[entries.copies > 0]
    sources = np.unique(state.partitions.replicas[moved])
    rates: dict[str, dict[str, int]] = {}
    for row in sources[sources != NO_BROKER].tolist():
        if gives[row] > 0 and state.brokers.state[row] != BrokerState.DEAD:
            rates.setdefault(str(state.brokers.id[row]), {})[LEADER_RATE] = int(gives[row])
    for row in np.unique(entries.copy_target).tolist():
        rates.setdefault(str(state.brokers.id[row]), {})[FOLLOWER_RATE] = int(takes[row])
    return dict(sorted(rates.items(), key=lambda rate: int(rate[0])))


def _lists(state: ClusterState, schedule: Schedule) -> Mapping[str, Mapping[str, list[str]]]:
    parts, ids = state.partitions, state.brokers.id.tolist()
    lists: dict[str, dict[str, list[str]]] = {}
    for row, after in zip(schedule.row.tolist(), schedule.after.tolist(), strict=True):
        before = [b for b in parts.replicas[row].tolist() if b != NO_BROKER]
        added = [b for b in after if b != NO_BROKER and b not in before]
        if added:
            topic = lists.setdefault(parts.topics[int(parts.topic[row])], {LEADER_REPLICAS: [], FOLLOWER_REPLICAS: []})
            topic[LEADER_REPLICAS] += [f"{parts.partition[row]}:{ids[b]}" for b in before]
            topic[FOLLOWER_REPLICAS] += [f"{parts.partition[row]}:{ids[b]}" for b in added]
    return dict(sorted(lists.items()))


def _configs(kind: str, name: str, verb: str, value: str) -> str:
    words: list[Any] = ["--alter", "--entity-type", kind, "--entity-name", name, verb, value]
    return f'kafka-configs.sh --bootstrap-server "{BOOTSTRAP}" {shlex.join(words)}'
