"""The verb that writes the spec of a cluster that runs."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.host_port import HostPort
from controlplane.cli.errors import CliError
from controlplane.cli.session import Session, session_of
from controlplane.runtime.call_errors import LOOK_AGAIN

if TYPE_CHECKING:
    from controlplane.kafka.client_access import ClientAccess
    from controlplane.kafka.errors import KafkaUnavailable
    from controlplane.kafka.import_reader import ForeignCluster

_ANSWERS_WITHIN_S = 1.0
"""A connection. Whatever takes longer is asked by Kafka's client, which waits longer."""
_UNREAD = "the cluster could not be read"
_ASK_AGAIN = "is a broker up, and can this machine reach its address? Nothing was changed: it may be run again"


def import_cluster(
    context: typer.Context,
    bootstrap: Annotated[
        str,
        typer.Option("--bootstrap", metavar="HOST:PORT", show_default=False, help="Its brokers; several with commas."),
    ] = "",
    name: Annotated[
        str,
        typer.Option("--name", metavar="NAME", show_default="imported", help="Name for the cluster."),
    ] = "imported",
    client_config: Annotated[
        Path | None,
        typer.Option(
            "--client-config",
            metavar="FILE",
            show_default=False,
            help="Properties of a Kafka client: bootstrap.servers.",
        ),
    ] = None,
    client_properties: Annotated[
        Path | None,
        typer.Option(
            "--client-properties",
            metavar="FILE",
            show_default=False,
            help="For TLS and SASL: properties of librdkafka, mode 0600.",
        ),
    ] = None,
) -> None:
    """Write the spec of a running cluster, also one not made by Kedge.

    Everything is read by Kafka's own protocol, and nothing is changed. For a cluster of this server the spec in
    force is printed. For any other (KRaft) its brokers and controllers become `external`: applying that spec watches
    them, and never changes them (docs/import.md). What is not known becomes a comment `unknown`, never a guess.
    Brokers that speak TLS are dialled by `--client-properties`; the spec gets the name alone that the server's
    settings map to such a file, and the cluster is watched only.

    Exit codes: 0 written, 1 it is not reached, or is not taken on.

    \b
    Examples:
      kedge import --bootstrap 10.0.0.1:9092 --name orders > orders.yaml
      kedge import --bootstrap b1.example:9094 --client-properties orders.properties --name orders > orders.yaml
      kedge validate -f orders.yaml && kedge apply -f orders.yaml
    """
    from controlplane.kafka.import_reader import InZooKeeperMode

    session = session_of(context)
    access = _access(client_properties, client_config)
    addresses = _addresses(bootstrap or (access.bootstrap if access is not None else ""), client_config)
    try:
        found = _read(session, addresses, access)
    except InZooKeeperMode as old:
        session.write(_ours(session, old.cluster_id) or _refuse_zookeeper(addresses))
        return
    session.write(_ours(session, found.seen.cluster_id) or _spec_of(session, found, name, name if access else ""))


def _refuse_zookeeper(addresses: tuple[str, ...]) -> str:
    raise CliError(
        "the cluster keeps its metadata in ZooKeeper",
        where=", ".join(addresses),
        why="brokers of Kedge join KRaft quorums only",
        next_step="migrate it to KRaft by its own tools first (docs/import.md)",
    )


def _access(file: Path | None, client_config: Path | None) -> "ClientAccess | None":
    from controlplane.kafka.client_access import ClientPropertiesUnusable, read_access

    if file is None:
        return None
    if client_config is not None:
        raise CliError("--client-config is for plaintext", next_step="name --client-properties alone")
    try:
        return read_access(file)
    except ClientPropertiesUnusable as unusable:
        raise CliError("the client properties cannot be used", where=str(file), why=str(unusable)) from None


def _addresses(bootstrap: str, client_config: Path | None) -> tuple[str, ...]:
    from controlplane.cli.client_config import bootstrap_in

    given = bootstrap or (bootstrap_in(client_config) if client_config is not None else "")
    if client_config is not None and bootstrap:
        bootstrap_in(client_config)  # what it asks for beside addresses is refused all the same
    addresses = tuple(text.strip() for text in given.split(",") if text.strip())
    if not addresses:
        raise CliError("no broker was named", next_step="kedge import --bootstrap HOST:PORT")
    return addresses


def _read(session: Session, addresses: tuple[str, ...], access: "ClientAccess | None") -> "ForeignCluster":
    from controlplane.kafka.client_access import OneAccess
    from controlplane.kafka.deadline import CALL_LIMIT_S, Deadline
    from controlplane.kafka.dialer import DirectDialer
    from controlplane.kafka.errors import KafkaFault, KafkaUnavailable
    from controlplane.kafka.import_reader import read_foreign

    dialer = DirectDialer(tls=OneAccess(access) if access is not None else None)
    deadline = Deadline.after(6 * CALL_LIMIT_S)  # every broker is asked for all it runs with
    try:
        _refuse_silence(addresses)
        with dialer.dial("import", addresses, deadline) as connection:
            return read_foreign(connection, deadline, session.around.utc_now)
    except KafkaUnavailable as fault:
        raise CliError(_UNREAD, where=",".join(addresses), why=fault.why, next_step=_next_step(fault, access)) from None
    except KafkaFault as fault:
        raise CliError(fault.what, where=fault.where, why=fault.why, next_step=fault.next_step) from None
    finally:
        dialer.close()


def _next_step(fault: "KafkaUnavailable", access: "ClientAccess | None") -> str:
    if access is None:
        is_tls = "is a TLS port" in fault.why
        return "name how it is spoken to: --client-properties FILE (docs/import.md)" if is_tls else _ASK_AGAIN
    return fault.next_step if fault.next_step != LOOK_AGAIN else _ASK_AGAIN


def _refuse_silence(addresses: tuple[str, ...]) -> None:
    """Where nothing listens at any of them that is told at once: Kafka's client would go on asking for 6 s. What it is
    that does not refuse, that client says. Raises KafkaUnavailable.
    """
    from controlplane.kafka.errors import KafkaUnavailable

    for address in addresses:
        try:
            at = HostPort.parse(address)
            socket.create_connection((at.host, at.port), _ANSWERS_WITHIN_S).close()
        except ConnectionRefusedError:
            continue
        except (OSError, ValueError):
            return
        return
    raise KafkaUnavailable(what="dialling", where="import", why=f"nothing listens at {', '.join(addresses)}")


def _ours(session: Session, cluster_id: str) -> str:
    """The spec in force of the cluster of ours with that id, "" where the server has none, or there is no server."""
    from controlplane.cli.output import as_yaml
    from events.ids import kafka_uuid
    from events.spec.conversion import from_data, shortest_data

    try:
        clusters = session.client.clusters()
        for cluster in clusters:
            document = session.client.cluster(cluster.name).document
            external = (document.get("spec") or {}).get("external") or {}
            if cluster_id in (kafka_uuid("kafka", cluster.uid), external.get("clusterId")):
                session.tell(f"{cluster.name} is kept by this server; this is its spec in force")
                return as_yaml(shortest_data(from_data(document)))
    except CliError as error:
        session.tell(f"no server was asked whether it keeps this cluster: {error.what}", "yellow")
    return ""


def _spec_of(session: Session, found: "ForeignCluster", name: str, client_properties: str) -> str:
    from controlplane.commands.import_spec import ImportRefused, imported_spec

    try:
        spec = imported_spec(found, name=name, client_properties=client_properties)
    except ImportRefused as refused:
        raise CliError("the cluster is not taken on", why=str(refused), next_step=refused.next_step) from None
    for line in spec.unknown:
        session.tell(f"unknown: {line}", "yellow")
    return spec.text
