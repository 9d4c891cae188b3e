"""What to do next, as a pure function of the document and of what is on the VM. The doing is in `agent.loop`.

One step per service and pass; a pass looks at everything again, so a lost step is found again by the next pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent.host_port import plain_host
from agent.records import ServiceRecord
from agent.wire import Document, ServiceDocument, ServiceName


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """What the log directories look like: `ready` to start on, `blank` and allowed to be formatted, or `refused`."""

    state: Literal["ready", "blank", "refused"]
    reason: str = ""
    lost: tuple[str, ...] = ()
    """Directories (by name) it is refused for, since what the service kept there is gone: empty, or another one of
    the same node."""

    @property
    def is_lost(self) -> bool:
        return bool(self.lost)


@dataclass(frozen=True, slots=True)
class HoldOff:
    """Do not try before `until_s` (monotonic seconds): the last try failed for `reason`."""

    until_s: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """What is true of one service on the VM. `running` is the start_id its live process was started with."""

    running: str | None = None
    record: ServiceRecord = field(default_factory=ServiceRecord)
    unreadable: str = ""
    is_installed: bool = True
    storage: StorageFacts = StorageFacts("ready")
    awaits: str = ""
    """What it has to have before it starts and has not yet: a certificate."""
    stop_asked_s: float | None = None
    hold: HoldOff | None = None
    unready_since_s: float | None = None
    """When its live process was started, where that has not served yet; monotonic seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalState:
    """What is true of the VM. Times are monotonic seconds."""

    now_s: float
    boot_id: str
    services: Mapping[ServiceName, ServiceFacts]
    attached: Mapping[str, str] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    retired: bool = False
    shutting_down: bool = False
    stop_deadline_s: float = 60.0


Leaving = Literal["", "retired", "shutting down"]
"""Why a VM lets nothing run: for good, or until it boots. One that the cloud takes back shuts down."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The process runs as it should (or may not be touched): watch it."""

    service: ServiceName
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rest:
    """The service is over and stays so."""

    service: ServiceName
    note: str = ""


@dataclass(frozen=True, slots=True)
class WaitForOthers:
    """Something that others bring is missing."""

    service: ServiceName
    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The agent will not go on by itself, or not yet."""

    service: ServiceName
    reason: str


@dataclass(frozen=True, slots=True)
class FormatDisk:
    service: ServiceName


@dataclass(frozen=True, slots=True)
class Start:
    service: ServiceName


@dataclass(frozen=True, slots=True)
class Terminate:
    """SIGTERM, the first signal of a stop."""

    service: ServiceName


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL: the deadline of the orderly stop is over."""

    service: ServiceName


@dataclass(frozen=True, slots=True)
class AwaitExit:
    service: ServiceName


@dataclass(frozen=True, slots=True)
class RecordEnd:
    """The process is proved gone: persist that these start_ids are over, before anybody is told."""

    service: ServiceName
    start_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteExit:
    """The process ended although nobody asked it to."""

    service: ServiceName


Step: TypeAlias = (
    Keep | Rest | WaitForOthers | Fail | FormatDisk | Start | Terminate | Kill | AwaitExit | RecordEnd | NoteExit
)


_STOPS = (Terminate, Kill, AwaitExit)

SERVER_FIRST_S = 30.0
"""So long a broker waits for the ZooKeeper server beside it to serve. It gives up by itself when it finds no ensemble
for 18 s (`zookeeper.connection.timeout.ms`), which would count as a crash."""


def plan_steps(document: Document | None, local: LocalState) -> tuple[Step, ...]:
    """One step for every service in `local.services`, which holds the document's and those with a live process."""
    if local.shutting_down:
        return _shut_down(local)
    wanted = {service.name: service for service in document.services} if document else {}
    steps = {name: _step(name, wanted.get(name), facts, local) for name, facts in sorted(local.services.items())}
    server = wanted.get("zookeeper")
    if "broker" in steps and "zookeeper" in steps:
        steps["broker"], steps["zookeeper"] = _in_order(steps["broker"], steps["zookeeper"], server, local)
    return tuple(steps.values())


def _in_order(broker: Step, server: Step, wanted: ServiceDocument | None, local: LocalState) -> tuple[Step, Step]:
    """A broker beside a ZooKeeper server starts after it and stops before it: it registers through the ensemble when it
    starts, and hands its leaders over through it when it stops. A server that cannot start, or that does not serve
    `SERVER_FIRST_S` after its start, is not waited for: the others of the ensemble may well be a majority.
    """
    if isinstance(server, _STOPS) and isinstance(broker, _STOPS):
        return broker, Keep(server.service, "stops after the broker")
    if not isinstance(broker, Start) or wanted is None or wanted.state != "running":
        return broker, server
    since_s = local.services["zookeeper"].unready_since_s
    boots = isinstance(server, Keep) and since_s is not None and local.now_s - since_s < SERVER_FIRST_S
    if boots or isinstance(server, (*_STOPS, FormatDisk, Start, RecordEnd, NoteExit)):
        return WaitForOthers(broker.service, "starts after the ZooKeeper server of this VM"), server
    return broker, server


def _step(name: ServiceName, wanted: ServiceDocument | None, facts: ServiceFacts, local: LocalState) -> Step:
    if local.retired:
        return _down(name, wanted, facts, local, note="this instance is retired")
    if wanted is None:
        # A document that forgets a service is no order to stop it: stopping is said by `stopped`.
        return Keep(name, "not in the document; left running") if facts.running else Rest(name, "not in the document")
    if facts.unreadable:
        return (
            Keep(name, facts.unreadable)
            if facts.running and wanted.state == "running"
            else Fail(name, facts.unreadable)
        )
    if wanted.state == "stopped":
        return _down(name, wanted, facts, local)
    if facts.running is not None:
        return _running(wanted, facts, local)
    return _up(wanted, facts, local)


def _running(wanted: ServiceDocument, facts: ServiceFacts, local: LocalState) -> Step:
    """A live process and a document that wants one: the same start, or a controlled restart."""
    if facts.running == wanted.start_id:
        return Keep(wanted.name)
    if facts.record.end_of(wanted.start_id):
        return Keep(wanted.name, f"asked to run {wanted.start_id}, which is over; {facts.running} keeps running")
    return _stop(wanted.name, facts, local)


def _up(wanted: ServiceDocument, facts: ServiceFacts, local: LocalState) -> Step:
    """No process, and the document wants one."""
    launch = facts.record.launch
    if launch and launch.start_id != wanted.start_id and not facts.record.end_of(launch.start_id):
        return RecordEnd(wanted.name, (launch.start_id,))
    if facts.record.end_of(wanted.start_id):
        return Rest(wanted.name, f"start {wanted.start_id} is over; a new start_id is needed to run again")
    # Another boot id means the whole VM went down: no crash of Kafka's, simply start again.
    same_run = launch and launch.boot_id == local.boot_id and launch.start_id == wanted.start_id
    if launch and same_run and facts.record.noted_exit < launch.number:
        return NoteExit(wanted.name)
    if missing := _missing(wanted, local):
        return WaitForOthers(wanted.name, missing)
    if facts.hold and local.now_s < facts.hold.until_s:
        return Fail(wanted.name, facts.hold.reason)
    if facts.awaits:
        return WaitForOthers(wanted.name, facts.awaits)
    if not facts.is_installed:
        return Fail(wanted.name, f"Kafka {wanted.kafka_version} is not installed on this VM")
    if facts.storage.state == "refused":
        return Fail(wanted.name, facts.storage.reason)
    return FormatDisk(wanted.name) if facts.storage.state == "blank" else Start(wanted.name)


def _down(
    name: ServiceName, wanted: ServiceDocument | None, facts: ServiceFacts, local: LocalState, note: str = ""
) -> Step:
    """No process is wanted. Both the document's start and the last one launched are recorded as over."""
    if facts.running is not None:
        return _stop(name, facts, local)
    ids = [wanted.start_id] if wanted else []
    if facts.record.launch:
        ids.append(facts.record.launch.start_id)
    open_ids = tuple(dict.fromkeys(i for i in ids if facts.record.end_of(i) is None))
    return RecordEnd(name, open_ids) if open_ids else Rest(name, note)


def _stop(name: ServiceName, facts: ServiceFacts, local: LocalState) -> Step:
    if facts.stop_asked_s is None:
        return Terminate(name)
    overdue = local.now_s - facts.stop_asked_s >= local.stop_deadline_s
    return Kill(name) if overdue else AwaitExit(name)


def _shut_down(local: LocalState) -> tuple[Step, ...]:
    """The VM goes down: stop, persist nothing. Brokers first: a broker's stop needs controllers, and hangs without."""
    live = sorted(name for name, facts in local.services.items() if facts.running is not None)
    steps: list[Step] = []
    for name, facts in sorted(local.services.items()):
        if facts.running is None:
            steps.append(Rest(name, "the VM is shutting down"))
        elif name != "broker" and "broker" in live:
            steps.append(Keep(name, "stops after the broker"))
        else:
            steps.append(_stop(name, facts, local))
    return tuple(steps)


def _missing(wanted: ServiceDocument, local: LocalState) -> str:
    """What others still have to attach: volumes, then the address."""
    for log_dir in wanted.log_dirs:
        there = local.attached.get(log_dir.name)
        if there is None:
            return f"waiting for volume {log_dir.volume} to be attached as `{log_dir.name}`"
        if there != log_dir.volume:
            return f"waiting for volume {log_dir.volume}; `{log_dir.name}` holds {there}"
    if plain_host(wanted.address) not in local.addresses:
        return f"waiting for address {wanted.address} to be bound to this VM"
    return ""
