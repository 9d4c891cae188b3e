"""Rules about TLS: between nodes, and at the listeners clients use."""

from collections.abc import Iterator, Mapping
from typing import Any

from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.security import DEFAULT_REAUTHENTICATION_S, Listener, Security

NODES_LISTENERS = ("CONTROLPLANE", "REPLICATION")
"""What controllers, and brokers among themselves, listen by under TLS."""

NODES_PORTS = (9090, 9091)
"""Where they do: of a plaintext cluster these are ports as any others."""

_ENSEMBLE_PORT = 2182
"""Where ZooKeeper servers do, in that mode."""

_LISTENERS: Path = ("spec", "listeners")
_INTERNAL: Path = ("spec", "security", "internal")


def security_problems(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """Everything wrong with what is to be encrypted. `sections` are the sound ones, by python name."""
    security: Security | None = sections.get("security")
    listeners: tuple[Listener, ...] | None = sections.get("listeners")
    if security is not None and security.internal == "tls":
        yield from _where_offered(sections, where)
    if security is not None:
        yield from _own_authorities(security, where)
    if listeners is None:
        return
    yield from _repeated(listeners, where)
    is_tls = security is not None and security.internal == "tls"
    kafka = sections.get("kafka")
    ports = (_ENSEMBLE_PORT, *NODES_PORTS) if kafka is not None and kafka.mode == "zookeeper" else NODES_PORTS
    for index, listener in enumerate(listeners):
        if is_tls and listener.port in ports:
            message = f"port {listener.port} is one of nodes among themselves: firewalls let in members alone"
            fix = f"Use another one than {', '.join(map(str, ports))}, as in 9094."
            yield where.problem(p.LISTENERS, (*_LISTENERS, index, "port"), message, fix)
        yield from _of_listener(index, listener, is_tls, where)
    if len(listeners) > 1 and security is not None and not is_tls:
        message = f"{len(listeners)} listeners are given; one is offered where nodes speak plaintext"
        yield where.problem(p.LISTENERS, (*_LISTENERS, 1), message, "Keep one of them.")


def listener_change_problems(
    old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions
) -> Iterator[Problem]:
    """Where nodes speak TLS a listener stays what it is while it stays: firewalls follow the spec, and brokers that
    stand serve what they were started with."""
    if new.spec.security.internal != "tls":
        return
    before = {one.name: one for one in old.spec.listeners}
    holders = {one.port: one.name for one in old.spec.listeners}
    for index, listener in enumerate(new.spec.listeners):
        was = before.get(listener.name)
        if was is not None and _met_by_clients(was) != _met_by_clients(listener):
            message = f"listener `{listener.name}` would become another one under its name, under its clients' feet"
            fix = "Put it back, add one of another name and port, apply, have clients move, then remove this one."
            yield where.problem(p.LISTENERS, (*_LISTENERS, index), message, fix)
        elif was is None and listener.port in holders:
            had = holders[listener.port]
            message = f"port {listener.port} is that of listener `{had}`, whose clients would meet `{listener.name}`"
            fix = f"Use another port, apply, have clients move, then remove `{had}`."
            yield where.problem(p.LISTENERS, (*_LISTENERS, index, "port"), message, fix)


def _met_by_clients(listener: Listener) -> tuple[int, str, str]:
    """What clients of a listener are set for."""
    return listener.port, listener.security, listener.authentication.type


def _where_offered(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    if any(pool.has_members for pool in sections.get("pools") or ()):
        message = "`tls` is not offered where ZooKeeper servers share the VMs of brokers: a VM has one certificate"
        fix = "Write `services: [broker]` for them, and a pool with `services: [zookeeper]`."
        yield where.problem(p.COHOSTED_TLS, _INTERNAL, message, fix)
    if sections.get("external") is not None:
        message = "`tls` is not offered where others run a part of the cluster: their nodes have no such certificate"
        yield where.problem(p.SECURITY, _INTERNAL, message, "Write `plaintext`.")


def _own_authorities(security: Security, where: Positions) -> Iterator[Problem]:
    of = {"clusterCa": security.cluster_ca.own, "clientsCa": security.clients_ca.own}
    for key, name in of.items():
        if name is not None and security.internal != "tls":
            message = f"CA `{name}` would sign nothing: nodes speak plaintext"
            path: Path = ("spec", "security", key, "own")
            yield where.problem(p.OWN_CA, path, message, f"Write `internal: tls`, or leave `{key}` out.")
    if of["clusterCa"] is not None and of["clusterCa"] == of["clientsCa"]:
        message = f"CA `{of['clusterCa']}` would sign nodes and users: who signs users could sign a node"
        fix = "Use another CA, with another root, for one of the two, or leave one out: Kedge makes it."
        yield where.problem(p.OWN_CA, ("spec", "security", "clientsCa", "own"), message, fix)


def _repeated(listeners: tuple[Listener, ...], where: Positions) -> Iterator[Problem]:
    for index, listener in enumerate(listeners):
        before = listeners[:index]
        if any(listener.name == other.name for other in before):
            message = f"listener `{listener.name}` is there twice"
            yield where.problem(p.REPEATED, (*_LISTENERS, index, "name"), message, "Give each its own name.")
        elif any(listener.port == other.port for other in before):
            message = f"port {listener.port} is there twice"
            yield where.problem(p.REPEATED, (*_LISTENERS, index, "port"), message, "Give each listener its own port.")


def _of_listener(index: int, listener: Listener, is_tls: bool, where: Positions) -> Iterator[Problem]:
    path: Path = (*_LISTENERS, index)
    asked = listener.authentication.type
    if is_tls and listener.name in NODES_LISTENERS:
        message = f"the name `{listener.name}` belongs to nodes among themselves"
        yield where.problem(p.LISTENERS, (*path, "name"), message, "Use another, as in `TLS`.")
    if listener.security == "tls" and not is_tls:
        message = f"listener `{listener.name}` is to speak TLS, and nodes have no certificates: they speak plaintext"
        fix = "Write `security: {internal: tls}` for a new cluster, or `security: plaintext` here."
        yield where.problem(p.SECURITY, (*path, "security"), message, fix)
    if asked != "none" and listener.security == "plaintext":
        message = f"listener `{listener.name}` is to ask clients who they are, and is plaintext: anybody could listen"
        fix = "Write `security: tls`, or `authentication: {type: none}`."
        yield where.problem(p.SECURITY, (*path, "authentication", "type"), message, fix)
    if asked not in ("scram-sha-512", "oauth") and listener.authentication.reauthenticate != DEFAULT_REAUTHENTICATION_S:
        message = (
            f"`{asked}` knows no reauthentication: Kafka asks for passwords and tokens again, and for nothing else"
        )
        fix = "Leave `reauthenticate` out; who loses a certificate loses their rules (ACLs), at the next request."
        yield where.problem(p.SECURITY, (*path, "authentication", "reauthenticate"), message, fix)
