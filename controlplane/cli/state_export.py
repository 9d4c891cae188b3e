"""What `kedge state export` writes: read from Kafka or asked of the server, completed with what people know."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.host_port import HostPort
from controlplane.cli.amounts import rate_in, size_in
from controlplane.cli.errors import CliError
from controlplane.cli.session import Session
from controlplane.cli.state_inputs import refusals_as_documents, usage
from events.clock import Clock
from planner.drain.model.capacity import (
    FIGURES,
    Capacity,
    FigureOrigin,
    FigureSource,
    GivenCapacity,
    Resolved,
    missing_lines,
    read_capacity,
    resolve,
)
from planner.drain.model.observed import (
    ObservationPolicy,
    RacksMissing,
    brokers_of,
    dead_brokers,
    measured_disks,
    observed_document,
)
from planner.observed import KafkaSnapshot

_HOW = "--bandwidth 200MB/s for every broker, or --capacity FILE by broker (docs/drain-plans.md)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The command line. Amounts as text; empty = not given."""

    bootstrap: str = ""
    cluster: str = ""
    capacity: Path | None = None
    bandwidth: str = ""
    disk: str = ""
    flow: str = ""
    disk_limit: float = 0.85
    outgoing: tuple[int, ...] = ()


def exported(session: Session, wanted: ExportOptions) -> dict[str, Any]:
    """The state file as a document. Raises CliError when it cannot be complete, with what is missing."""
    if bool(wanted.bootstrap) == bool(wanted.cluster):
        raise usage("name one cluster", next_step="--bootstrap HOST:PORT for any Kafka, --cluster NAME for one of ours")
    given = _given(session, wanted)
    if wanted.cluster:
        return _marked(_completed(session.client.state(wanted.cluster).document, given), wanted)
    snapshot = _snapshot(wanted.bootstrap, session.around.utc_now)
    return observed(snapshot, given, wanted)


def observed(snapshot: KafkaSnapshot, given: GivenCapacity, wanted: ExportOptions) -> dict[str, Any]:
    """What was seen, with what people say first and what brokers tell second. Raises CliError."""
    strange = sorted(set(wanted.outgoing) - set(snapshot.brokers))
    if strange:
        known = ", ".join(map(str, sorted(snapshot.brokers)))
        raise usage(f"there is no broker {', '.join(map(str, strange))}", why=f"the cluster has {known}")
    living = brokers_of(snapshot) - dead_brokers(snapshot)
    capacity = resolve(living, [given.source, measured_disks(snapshot)])
    _require(capacity)
    policy = ObservationPolicy(
        disk_limit=wanted.disk_limit,
        flow_bytes_per_s=rate_in(wanted.flow, option="--flow") if wanted.flow else None,
        racks=given.racks,
        outgoing=wanted.outgoing,
    )
    try:
        return observed_document(snapshot, capacity, policy)
    except RacksMissing as missing:
        next_step = '--capacity FILE with {"brokers": {"1001": {"rack": "a"}}}, or set broker.rack'
        raise CliError("the state cannot be complete", why=str(missing), next_step=next_step) from None


def state_text(document: dict[str, Any]) -> str:
    """One broker and one partition a line: large files stay greppable and diff well."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{" + ",\n ".join(lines) + "}\n"


def _given(session: Session, wanted: ExportOptions) -> GivenCapacity:
    """The capacity file, and for brokers it leaves out the amounts of the command line."""
    file = GivenCapacity(FigureSource(origin=FigureOrigin.GIVEN), {})
    if wanted.capacity is not None:
        try:
            content = wanted.capacity.read_bytes()
        except OSError as error:
            raise CliError("cannot read the file", where=str(wanted.capacity), why=error.strerror or "") from None
        with refusals_as_documents(session, "text", kind="State", where=str(wanted.capacity), next_step=""):
            file = read_capacity(content)
    rate = rate_in(wanted.bandwidth, option="--bandwidth") if wanted.bandwidth else None
    disk = size_in(wanted.disk, option="--disk") if wanted.disk else None
    default = file.source.everyone
    options = [name for name, text in (("--bandwidth", wanted.bandwidth), ("--disk", wanted.disk)) if text]
    words = [file.source.everyone_words] if default != Capacity() else []
    source = FigureSource(
        origin=FigureOrigin.GIVEN,
        by_broker=file.source.by_broker,
        everyone=replace(
            default,
            disk_bytes=disk or default.disk_bytes,
            ingress_bytes_per_s=rate or default.ingress_bytes_per_s,
            egress_bytes_per_s=rate or default.egress_bytes_per_s,
        ),
        everyone_words=f"one figure for all, as given ({', '.join([*options, *words])})",
    )
    return GivenCapacity(source, file.racks)


def _completed(document: dict[str, Any], given: GivenCapacity) -> dict[str, Any]:
    """The server's answer with the gaps filled: what the server knows of its own machines is believed first."""
    living = [b for b in document["brokers"] if b.get("state") != "dead"]
    served = FigureSource(
        origin=FigureOrigin.CATALOGUE,
        by_broker={b["id"]: Capacity(**{f: b[f] for f in FIGURES if f in b}) for b in living},
    )
    capacity = resolve(served.by_broker, [served, given.source])
    _require(capacity)
    for broker in living:
        known = capacity.by_broker[broker["id"]]
        broker.update({figure: value for figure in FIGURES if (value := known.of(figure)) is not None})
    document["assumptions"] = [*document.get("assumptions", []), *capacity.assumptions]
    return document


def _marked(document: dict[str, Any], wanted: ExportOptions) -> dict[str, Any]:
    ids = {b["id"] for b in document["brokers"]}
    strange = sorted(set(wanted.outgoing) - ids)
    if strange:
        raise usage(f"there is no broker {', '.join(map(str, strange))}", why=f"{wanted.cluster} has {sorted(ids)}")
    for broker in document["brokers"]:
        if broker["id"] in wanted.outgoing and broker.get("state") != "dead":
            broker["state"] = "outgoing"
    document["disk_limit"] = wanted.disk_limit
    if wanted.flow:
        document["flow_bytes_per_s"] = rate_in(wanted.flow, option="--flow")
    return document


def _require(capacity: Resolved) -> None:
    if capacity.missing:
        why = "nobody knows " + "; ".join(missing_lines(capacity.missing))
        disks = any("disk_bytes" in lacks for lacks in capacity.missing.values())
        next_step = f"--disk 2TiB too where brokers do not tell; {_HOW}" if disks else _HOW
        raise CliError("the state cannot be complete", why=why, next_step=next_step)


def _snapshot(bootstrap: str, now: Clock) -> KafkaSnapshot:
    """One reading of the cluster's metadata and log dirs. Raises CliError."""
    from controlplane.kafka.admin import AdminGateway
    from controlplane.kafka.dialer import DirectDialer
    from controlplane.kafka.errors import KafkaFault, KafkaRefused

    addresses = [_address(part.strip()) for part in bootstrap.split(",") if part.strip()]
    dialer = DirectDialer()
    try:
        return AdminGateway(dialer, bootstrap, addresses, now=now).snapshot()
    except KafkaFault as fault:
        next_step = "is this a broker's PLAINTEXT listener?"
        if isinstance(fault, KafkaRefused):
            next_step = "a KRaft cluster of Kafka 3.3 or later is needed"
        raise CliError(
            f"cannot read the cluster ({fault.what})", where=bootstrap, why=fault.why, next_step=next_step
        ) from None
    finally:
        dialer.close()


def _address(text: str) -> str:
    try:
        return str(HostPort.parse(text))
    except ValueError:
        next_step = "--bootstrap HOST:PORT, as in 10.0.0.1:9092 or [fd00::1]:9092"
        raise usage(f"`{text}` is not an address of a broker", next_step=next_step) from None
