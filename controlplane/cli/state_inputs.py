"""The state a verb plans on: from a file, from stdin or from the server, and what the command line changes in it."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.output import document, write_document
from controlplane.cli.session import Session
from controlplane.cli.state_options import PlanFormat
from controlplane.runtime.quantities import human_seconds
from planner.drain.model.document import ReadState, read_state
from planner.drain.model.problem import DocumentRefused, StateProblemKind
from planner.drain.model.state import BrokerState, ClusterState
from planner.drain.solver.volumes import within_volumes

STDIN = "-"
STALE_S = 120.0
MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Input:
    """`name` is what messages call it."""

    state: ClusterState
    assumptions: tuple[str, ...]
    name: str


def state_input(session: Session, *, file: str, cluster: str) -> Input:
    """Exactly one of the two. Partitions that need repair are read: planners name them in their answers.

    Raises CliError, DocumentRefused.
    """
    if bool(file) == bool(cluster):
        why = "both are given" if file else "neither is given"
        raise usage("name one state", why=why, next_step="--state FILE, or --cluster NAME to ask the server")
    content = read_bytes(file) if file else _of_cluster(session, cluster)
    read: ReadState = read_state(content, tolerate=(StateProblemKind.REPAIR_FIRST,))
    return Input(read.state, read.assumptions, f"cluster {cluster}" if cluster else _called(file))


def read_bytes(file: str) -> bytes:
    """A file, or stdin for `-`. Raises CliError."""
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        next_step = "check the path" if isinstance(error, FileNotFoundError) else ""
        raise CliError("cannot read the file", where=file, why=error.strerror or "", next_step=next_step) from None


def _called(file: str) -> str:
    return "standard input" if file == STDIN else file


def _of_cluster(session: Session, name: str) -> bytes:
    answer = session.client.state(name)
    if answer.age_s > STALE_S:
        session.tell(f"the state is {human_seconds(answer.age_s)} old: Kafka did not answer since", "yellow")
    return json.dumps(answer.document).encode()


def drained(given: Input, brokers: Sequence[int]) -> Input:
    """The same with these brokers on their way out, whatever the file says of them; the dead stay dead."""
    state = given.state
    rows = _rows(state, brokers, given.name)
    states = state.brokers.state.copy()
    states[[r for r in rows if states[r] != BrokerState.DEAD]] = BrokerState.OUTGOING
    changed = replace(state, brokers=replace(state.brokers, state=states))
    if not changed.brokers.must_empty.any():
        why = f"{given.name} has no broker that is outgoing or dead"
        raise usage("no broker is to be drained", why=why, next_step="--brokers 1001,1002")
    return replace(given, state=changed)


def sent_to(given: Input, named: Sequence[str]) -> Input:
    """Destinations as `1001=2001,2002`, added to the file's. Raises CliError for what may not take or need not give."""
    state = given.state
    wanted = dict(state.destinations)
    for text in named:
        source, equals, targets = text.partition("=")
        if not equals:
            raise usage(f"`{text}` names no destination", next_step="as in --destinations 1001=2001,2002")
        (row,) = _rows(state, broker_ids(source), given.name)
        to = _rows(state, broker_ids(targets), given.name)
        if not state.brokers.must_empty[row]:
            raise usage(f"broker {source} is not drained", why=f"in {text}", next_step=f"--brokers {source}")
        closed = [int(state.brokers.id[r]) for r in to if not state.brokers.may_receive[r]]
        if closed:
            raise usage(f"broker {closed[0]} may not receive", why=f"in {text}: it is itself outgoing or dead")
        wanted[row] = tuple(sorted(to))
    return replace(given, state=replace(state, destinations=wanted))


def limited(given: Input, disk_limit: float | None) -> Input:
    """Another fraction of the disks that may be used."""
    if disk_limit is None:
        return given
    if not 0 < disk_limit <= 1:
        raise usage(f"{disk_limit} is not a part of a disk", next_step="--disk-limit takes a fraction, as in 0.85")
    return replace(given, state=replace(given.state, disk_limit=disk_limit))


def kept_up_with(given: Input) -> Input:
    """With bandwidths that the volumes keep up with, once it is known who leaves."""
    return replace(given, state=within_volumes(given.state))


def known_topics(given: Input, names: Iterable[str]) -> tuple[str, ...]:
    """The names, if the state has them all: a misspelt topic would be moved. Raises CliError."""
    wanted = tuple(names)
    strange = sorted(set(wanted) - set(given.state.partitions.topics))
    if strange:
        raise usage(f"there is no topic {', '.join(strange)}", why=f"{given.name} does not name it")
    return wanted


def broker_ids(text: str) -> tuple[int, ...]:
    """`1001,1002`. Raises CliError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    bad = next((part for part in parts if not part.isdecimal()), None)
    if bad is not None or not parts:
        raise usage(
            f"`{text if bad is None else bad}` is not a broker id", next_step="ids with commas, as in 1001,1002"
        )
    return tuple(int(part) for part in parts)


def _rows(state: ClusterState, ids: Sequence[int], name: str) -> list[int]:
    row_of = {int(broker): row for row, broker in enumerate(state.brokers.id.tolist())}
    strange = [broker for broker in ids if broker not in row_of]
    if strange:
        known = ", ".join(map(str, sorted(row_of)[:10])) + (", ..." if len(row_of) > 10 else "")
        raise usage(f"there is no broker {', '.join(map(str, strange))}", why=f"{name} has {known}")
    return [row_of[broker] for broker in ids]


def usage(what: str, *, why: str = "", next_step: str = "") -> CliError:
    """What the command line asks for makes no sense."""
    return CliError(what, why=why, next_step=next_step, exit_code=exits.USAGE)


@contextmanager
def refusals_as_documents(
    session: Session, shape: str, *, kind: str, where: str, next_step: str = ""
) -> Iterator[None]:
    """A document that is refused inside is told with its problems: in words, and as `-o json` asks for it."""
    try:
        yield
    except DocumentRefused as refused:
        if shape in (PlanFormat.JSON, PlanFormat.YAML):
            shown = refused.problems[:MOST_PROBLEMS]
            problems = [{"kind": str(p.kind), "path": p.path, "message": p.message} for p in shown]
            answer = {"outcome": "refused", "of": where, "problem_count": len(refused.problems), "problems": problems}
            write_document(session, shape, document(kind, answer))
        first, *rest = str(refused).splitlines()
        why = "\n         ".join(line.strip() for line in rest)
        raise CliError(first.rstrip(":"), where=where, why=why, next_step=next_step) from None
