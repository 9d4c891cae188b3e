"""One Kafka gateway per cluster, found by the brokers the fold knows; dialled anew when those have changed."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal

from kazoo.client import KazooClient
from pydantic import SecretBytes

from agent.host_port import HostPort
from controlplane.cluster.external_brokers import external_addresses, is_shared
from controlplane.cluster.lifecycle import SERVING
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import CONTROLLER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.admin_calls.calls import CONTROLLER_LISTENER, TLS_CONTROLLER_LISTENER
from controlplane.kafka.dialer import Dialer, DirectDialer
from controlplane.kafka.egress import BrokerDoors
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.migrating_gateway import MigratingGateway
from controlplane.kafka.pair_copies.logs import broker_pair_logs
from controlplane.kafka.pair_copies.port import PairLogs
from controlplane.kafka.zookeeper import content, errors, live_registry, members, quorum, sessions, superuser
from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.locks import RESTART, KazooLocks, LockStatus, Taken
from controlplane.kafka.zookeeper.registry import RegistrySeen
from controlplane.kafka.zookeeper.sessions import ShownTo, plaintext
from controlplane.kafka.zookeeper_gateway import ZooKeeperGateway, as_kafka_fault
from controlplane.runtime.egress import Allowed
from events.ids import ClusterUid
from planner.rollout.security_steps import OVER, PLAIN

_Kind = Literal["zookeeper", "migrating", "kraft"]
_CONNECT_S = 2.0
"""A look at an ensemble comes on top of one at the brokers; both have to fit a call's limit."""


@dataclass(frozen=True, slots=True)
class _KnownGateway:
    bootstrap: tuple[str, ...]
    kind: _Kind
    listeners: tuple[tuple[str, int], ...]
    """Of controllers, with their ports, that by which a new voter is added first."""
    gateway: AdminGateway


NO_KEY = SecretBytes(b"")
"""Where no ZooKeeper asks for a password."""


class Gateways:
    """Gateways by cluster. Thread-safe; one cluster is asked by one thread at a time (the dialer sees to it)."""

    def __init__(
        self,
        dialer: Dialer,
        server_key: SecretBytes = NO_KEY,
        *,
        doors: BrokerDoors | None = None,
        identities: ServerIdentities | None = None,
    ) -> None:
        """`server_key` is what the passwords of ZooKeeper's super users are made of. `doors`, where the dialer has
        some, are told which addresses are a cluster's own, and `identities` which clusters speak TLS."""
        self._dialer = dialer
        self._identities = identities
        self._doors = doors
        self._server_key = server_key
        self._rolls: dict[ClusterUid, quorum.EnsembleRecord] = {}
        self._controllers: dict[ClusterUid, tuple[str, ...]] = {}
        self._locks: dict[ClusterUid, KazooLocks] = {}
        self._lock = threading.Lock()
        self._known: dict[ClusterUid, _KnownGateway] = {}
        self._pair_logs = broker_pair_logs(dialer)

    def of(self, view: ClusterView) -> KafkaGateway:
        """The gateway of a cluster. Its first call raises KafkaUnavailable when no broker has an address yet."""
        bootstrap, kind, listeners = bootstrap_of(view), _kind_of(view), _quorum_listeners(view)
        self._know(view)
        if self._doors is not None:
            self._doors.know(view.uid, own_addresses(view), is_outside=is_shared(view))
        with self._lock:
            if kind != "kraft":
                self._rolls[view.uid] = roll_of(view)
            if kind == "migrating":
                self._controllers[view.uid] = controllers_of(view)
            known = self._known.get(view.uid)
            if known is not None and (known.bootstrap, known.kind, known.listeners) == (bootstrap, kind, listeners):
                return known.gateway
            made = self._made(view, kind, bootstrap, listeners)
            self._known[view.uid] = fresh = _KnownGateway(bootstrap, kind, listeners, made)
        if known is not None:
            # The connection may rest on brokers that are gone by now; their addresses may be somebody else's.
            self._dialer.hang_up(view.uid)
        return fresh.gateway

    def pair_logs(self, one: ClusterView, other: ClusterView) -> PairLogs:
        """What the logs of two clusters, as they are now, are asked through."""
        for view in (one, other):
            self.of(view)
        return self._pair_logs

    @contextmanager
    def as_node(self, view: ClusterView) -> Iterator[KafkaGateway]:
        """A gateway as a node of a cluster that speaks TLS, by a certificate that counts for minutes and a connection
        of its own: for what no ACL of Kedge's gives it. Calls raise KafkaFault."""
        if self._identities is None:
            raise KafkaUnavailable(what="acting as a super user", where=view.name, why="nobody signs for this process")
        identities = self._identities.as_node()
        identities.know(view)
        if self._doors is not None:
            self._doors.know(view.uid, own_addresses(view), is_outside=is_shared(view))
        dialer = DirectDialer(keep=1, doors=self._doors, tls=identities)
        try:
            yield AdminGateway(dialer, view.uid, bootstrap_of(view), mode="kraft")
        finally:
            dialer.close()

    def registered_id(self, view: ClusterView) -> str:
        """The cluster id the ensemble of a cluster in ZooKeeper mode holds, "" for none. Raises `KafkaFault`."""
        return self.registry(view).cluster_id

    def fix_cluster_id(self, view: ClusterView, cluster_id: str) -> None:
        """Has the ensemble hold it. Raises `KafkaFault`, also where it holds another."""
        try:
            self._registry(view).found(cluster_id)
        except errors.ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def registry(self, view: ClusterView) -> RegistrySeen:
        """Who is registered in ZooKeeper, and who leads by its word. Raises `KafkaFault`."""
        try:
            return self._registry(view).look()
        except errors.ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def forget_migration(self, view: ClusterView) -> None:
        """Deletes what a quorum has left in ZooKeeper, all of whose controllers are proved stopped; again is fine.
        Raises `KafkaFault`."""
        try:
            self._registry(view).forget_migration()
        except errors.ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def content_is_right(self, view: ClusterView, wanted: content.EnsembleContent) -> bool:
        """Whether its ensemble keeps what it is to between plaintext and TLS. Raises `KafkaFault`."""
        try:
            return self._content(view).is_right(wanted)
        except errors.ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def put_content(self, view: ClusterView, wanted: content.EnsembleContent) -> None:
        """Has it do so. Raises `KafkaFault`."""
        try:
            self._content(view).put(wanted)
        except errors.ZooKeeperFault as fault:
            raise as_kafka_fault(fault) from fault

    def status(self, view: ClusterView) -> LockStatus:
        """Whether this server holds the restart lock of a cluster in ZooKeeper mode."""
        with self._lock:
            locks = self._locks.get(view.uid)
        return locks.status(RESTART) if locks else "lost"

    def take(self, view: ClusterView, why: str) -> str:
        """Takes that lock: "" where it is ours now, else who has it. Raises `KafkaFault`."""
        self._know(view)
        uid, endpoints = view.uid, [m.endpoint for m in roll_of(view).members]
        with self._lock:
            fresh = KazooLocks(
                uid,
                lambda: endpoints,
                holder="Kedge",
                password=self._password(uid),
                tls=self._shown_to(uid),
            )
            locks = self._locks.setdefault(uid, fresh)
        try:
            taken = locks.take(RESTART, why=why)
        except errors.ZooKeeperFault as fault:
            self.release(view)  # the next try gets a session of its own, with the servers of then
            raise as_kafka_fault(fault) from fault
        return "" if isinstance(taken, Taken) else f"{taken.holder} holds it: {taken.why}"

    def release(self, view: ClusterView) -> None:
        """Gives it back by ending the session, which frees it at once."""
        with self._lock:
            locks = self._locks.pop(view.uid, None)
        if locks is not None:
            locks.close()

    def _made(
        self, view: ClusterView, kind: _Kind, bootstrap: tuple[str, ...], listeners: tuple[tuple[str, int], ...]
    ) -> AdminGateway:
        if kind == "kraft":
            (listener, _), *others = listeners
            return AdminGateway(
                self._dialer, view.uid, bootstrap, quorum_listener=listener, more_quorum_listeners=dict(others)
            )
        uid, registry, ensemble = view.uid, self._registry(view), self._ensemble(view.uid)

        def roll() -> quorum.EnsembleRecord:
            return self._rolls[uid]

        if kind == "zookeeper":
            return ZooKeeperGateway(self._dialer, uid, bootstrap, ensemble=ensemble, registry=registry, roll=roll)
        return MigratingGateway(
            self._dialer,
            uid,
            bootstrap,
            ensemble=ensemble,
            registry=registry,
            roll=roll,
            controllers=lambda: self._controllers[uid],
            tls=self._shown_to(uid),
        )

    def _password(self, uid: ClusterUid) -> str:
        return superuser.super_password(self._server_key.get_secret_value(), uid)

    def _ensemble(self, uid: ClusterUid) -> KazooEnsemble:
        """Of a cluster whose servers are known (`_registry`)."""
        return KazooEnsemble(
            uid,
            lambda: self._rolls[uid].members,
            password=self._password(uid),
            connect_s=_CONNECT_S,
            tls=self._shown_to(uid),
        )

    def _content(self, view: ClusterView) -> content.ContentReconciler:
        self._registry(view)
        uid = view.uid

        def opened(what: str) -> AbstractContextManager[KazooClient]:
            endpoints = [m.endpoint for m in self._rolls[uid].members]
            return sessions.session(endpoints, self._password(uid), what=what, where=uid, tls=self._shown_to(uid))

        return content.KazooContent(self._ensemble(uid), opened)

    def _know(self, view: ClusterView) -> None:
        """Who is believed in that cluster by now."""
        if self._identities is not None and self._identities.know(view):
            self._dialer.hang_up(view.uid)  # they hold on to whom they believed when they were made

    def _registry(self, view: ClusterView) -> live_registry.KazooRegistry:
        self._know(view)  # an ensemble is asked before there is a broker
        uid = view.uid
        self._rolls[uid] = roll_of(view)
        return live_registry.KazooRegistry(
            uid,
            lambda: [m.endpoint for m in self._rolls[uid].members],
            password=self._password(uid),
            tls=self._shown_to(uid),
        )

    def _shown_to(self, uid: ClusterUid) -> ShownTo:
        identities = self._identities
        return (lambda: identities.context(uid)) if identities is not None else plaintext

    def close(self) -> None:
        """Closes all connections, and with them frees all locks."""
        with self._lock:
            held, self._locks = list(self._locks.values()), {}
        for locks in held:
            locks.close()
        self._dialer.close()


def _kind_of(view: ClusterView) -> _Kind:
    if not view.in_zookeeper_mode:
        return "kraft"
    return "migrating" if view.quorum.migration is not None and view.quorum.migration.voters else "zookeeper"


def _quorum_listeners(view: ClusterView) -> tuple[tuple[str, int], ...]:
    """Those a controller that is made now has: on the way to TLS two, and either may be its leader's."""
    config = view.security.config_of("controller")
    plain, tls = (CONTROLLER_LISTENER, CONTROLLER_PORT), (TLS_CONTROLLER_LISTENER, TLS_CONTROLLER_PORT)
    return {PLAIN: (plain,), OVER: (tls,), "C1": (plain, tls)}.get(config, (tls, plain))


def controllers_of(view: ClusterView) -> tuple[str, ...]:
    """`host:port` of the controllers a cluster migrates to, by id."""
    voters = view.quorum.migration.voters if view.quorum.migration is not None else ()
    return tuple(str(HostPort(v.address, v.port)) for v in sorted(voters, key=lambda v: v.id))


def roll_of(view: ClusterView) -> quorum.EnsembleRecord:
    """The servers of a cluster in ZooKeeper mode: where each is, and whose disk votes."""
    servers = [i for i in view.controllers() if _server_address(view, i)]
    port = members.SECURE_PORT if view.nodes_speak_tls else members.PLAIN_PORT
    places = {i.service_id: members.ZooKeeperMember(i.service_id, _server_address(view, i), port) for i in servers}
    voting = {v.id: v.directory_id for v in view.quorum.voters.values()}
    change = view.quorum.change
    if change is not None and change.adds:
        voting.setdefault(change.voter.id, change.voter.directory_id)
    given = {
        i.service_id: i.planned.volumes[0].directory_id
        for i in sorted(servers, key=lambda i: i.planned.generation)
        if i.bound
    }
    return quorum.EnsembleRecord(tuple(places[i] for i in sorted(places)), voting, given)


def _server_address(view: ClusterView, server: InstanceView) -> str:
    return server.address if server.hosted else view.vms.node_addresses.get(server.node, "")


def own_addresses(view: ClusterView) -> frozenset[str]:
    """Of all VMs of a cluster that may be there, and of its nodes that keep theirs."""
    vms = {
        address for i in view.alive() for address in (i.address, view.seat_address(i), view.address_of(i)) if address
    }
    return frozenset(vms | {address for address in view.vms.node_addresses.values() if address})


def judged(
    settings_allow: Iterable[Allowed],
    *,
    keep: int = 64,
    server_key: SecretBytes = NO_KEY,
    identities: ServerIdentities | None = None,
) -> Gateways:
    """Gateways of a server, whose connections are judged. None that speaks TLS is reached without `identities`."""
    doors, shown = BrokerDoors(settings_allow), identities or ServerIdentities(None)
    return Gateways(DirectDialer(keep=keep, doors=doors, tls=shown), server_key, doors=doors, identities=shown)


def bootstrap_of(view: ClusterView) -> tuple[str, ...]:
    """`host:port` of every broker that should serve, by broker id; those of others last."""
    serving = [i for i in view.brokers() if i.phase in SERVING and i.address and not i.lost]
    ours = tuple(
        str(HostPort(view.address_of(i), view.port_of(i))) for i in sorted(serving, key=lambda i: i.service_id)
    )
    return (*ours, *external_addresses(view))
