"""Who this process is to brokers that speak TLS: a certificate of each cluster's own CA, its key in memory alone.

It counts for a week and is renewed after two days, in the context that connections are made with: those that stand
go on, new ones show the new one.
"""

import os
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from controlplane.cluster.believed_authorities import Believed, believed
from controlplane.cluster.client_files import ClientFiles
from controlplane.cluster.view import ClusterView
from controlplane.kafka.client_access import Sasl
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.cluster_authorities import AuthorityLost
from controlplane.storage.certificates.cluster_authority import ServerIdentity
from controlplane.storage.certificates.principals import Member
from events.clock import Clock, utc_now
from events.errors import StoreUnavailable
from events.ids import ClusterUid

RENEWED_AFTER = timedelta(days=2)
NO_FILES: Mapping[str, Path] = {}


class TrustedCa(Protocol):
    """The CA whose nodes are believed."""

    @property
    def pem(self) -> str: ...


class ServerAuthority(Protocol):
    """Who signs for one cluster; `ClusterAuthorities` is one."""

    @property
    def cluster(self) -> TrustedCa: ...

    def identity(self, member: Member, *, now: datetime) -> ServerIdentity:
        """Raises KafkaUnavailable, KafkaRefused where nobody signs that for this process."""


class ServerAuthorities(Protocol):
    """Who signs for this process: the CAs themselves, or a loop that reads them for a portal."""

    def of(self, uid: ClusterUid, *, cluster: str = "") -> ServerAuthority | None:
        """`cluster`: the CA (its certificate, PEM) that signs now, "" where that is not known. None where a cluster has
        none yet. Raises AuthorityLost, KafkaUnavailable, StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class _KnownNodes:
    """A cluster whose nodes speak TLS: its name, who signs for it, and whom its nodes are recognised by (PEM), None
    until the first of them has a certificate; and who this process is there."""

    name: str
    nodes: Believed | None
    member: Member


@dataclass(slots=True)
class _Shown:
    known: _KnownNodes
    identity: ServerIdentity
    authorities: ServerAuthority
    context: ssl.SSLContext
    since: datetime


class ServerIdentities:
    """Thread-safe. Without `authorities` there is none: of a process nobody signs for."""

    def __init__(
        self,
        authorities: ServerAuthorities | None,
        clock: Clock = utc_now,
        *,
        client_files: Mapping[str, Path] = NO_FILES,
        member: Member = "server",
    ) -> None:
        """`client_files`: what clusters of others are shown, by the names their specs have for it. `member`: who this
        is to clusters of Kedge's own; where it has no rights of its own yet, its server (`LeastRightsBegun`)."""
        self._authorities, self._clock, self._member = authorities, clock, member
        self._clients = ClientFiles(client_files)
        self._lock = threading.Lock()
        self._known: dict[str, _KnownNodes] = {}
        self._shown: dict[str, _Shown] = {}

    def know(self, view: ClusterView) -> bool:
        """Whether that cluster's brokers are reached by TLS; of one nobody has told of they are not. And who signs and
        is believed now. True where that has changed: connections that stand were made by what was before."""
        is_other_file = self._clients.know(view)
        if not view.nodes_speak_tls:
            with self._lock:
                self._known.pop(view.uid, None)  # it may be on its way back to plaintext
            return is_other_file
        own: Member = self._member if view.settings.least_rights or self._member == "node" else "server"
        known = _KnownNodes(view.name, believed(view, "cluster"), own)
        with self._lock:
            before = self._known.get(view.uid)
            self._known[view.uid] = known
        return before is not None and before != known

    def as_node(self) -> "ServerIdentities":
        """Others, by which clusters of Kedge's own take this process for a node, and so for a super user: for one act,
        and then thrown away."""
        return ServerIdentities(self._authorities, self._clock, member="node")

    def context(self, cluster: str) -> ssl.SSLContext | None:
        """See BrokerTls."""
        access = self._clients.access(cluster)
        if access is not None:
            return access.context
        shown = self._of(cluster)
        return shown.context if shown is not None else None

    def sasl(self, cluster: str) -> Sasl | None:
        """See BrokerTls."""
        access = self._clients.access(cluster)
        return access.sasl if access is not None else None

    def next_step(self, cluster: str) -> str:
        """See BrokerTls."""
        return self._clients.next_step(cluster)

    def properties(self, cluster: str) -> Mapping[str, str]:
        """See BrokerTls."""
        access = self._clients.access(cluster)
        if access is not None:
            return access.properties
        shown = self._of(cluster)
        if shown is None:
            return {}
        return {
            "security.protocol": "ssl",
            "ssl.ca.pem": _bundle(shown.known, shown.authorities),
            "ssl.certificate.pem": shown.identity.issued.pem,
            "ssl.key.pem": shown.identity.key_pem,
        }

    def _of(self, cluster: str) -> _Shown | None:
        """Raises KafkaUnavailable."""
        with self._lock:
            known = self._known.get(cluster)
            if known is None:
                return None
            shown, now = self._shown.get(cluster), self._clock()
            if shown is not None and shown.known != known:
                shown = None
            if shown is None or not timedelta() <= now - shown.since < RENEWED_AFTER:
                shown = self._shown[cluster] = self._renewed(cluster, known, shown, now)
            return shown

    def _renewed(self, cluster: str, known: _KnownNodes, shown: _Shown | None, now: datetime) -> _Shown:
        authorities = shown.authorities if shown is not None else self._read(cluster, known)
        context = shown.context if shown is not None else _believing(_bundle(known, authorities))
        identity = authorities.identity(known.member, now=now)
        # `ssl` reads keys from files only: this one is in memory, and no disk ever has it.
        with os.fdopen(os.memfd_create("kedge-tls"), "wb") as file:
            file.write(f"{identity.key_pem}{identity.issued.pem}".encode())
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        return _Shown(known, identity, authorities, context, now)

    def _read(self, cluster: str, known: _KnownNodes) -> ServerAuthority:
        name, signer = known.name, known.nodes.signer if known.nodes is not None else ""
        what, why = "signing this server's certificate", "none was made yet: it is made with the first node's"
        if self._authorities is None:
            why = "this process may not read the keys of CAs; the loop's process dials this cluster"
            raise KafkaUnavailable(what=what, where=name, why=why)
        try:
            found = self._authorities.of(ClusterUid(cluster), cluster=signer)
        except (AuthorityLost, StoreUnavailable) as error:
            raise KafkaUnavailable(what=what, where=name, why=str(error)) from error
        if found is None:
            raise KafkaUnavailable(what=what, where=name, why=why)
        return found


def _bundle(known: _KnownNodes, authorities: ServerAuthority) -> str:
    return known.nodes.bundle if known.nodes is not None else authorities.cluster.pem


def _believing(ca_pem: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=ca_pem)
    return context
