"""Who this server is to brokers that speak TLS: a certificate of each cluster's own CA, its key in memory alone.

It counts for a week and is renewed after two days, in the context that connections are made with: those that stand
go on, new ones show the new one.
"""

import os
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.cluster_authorities import AuthorityLost
from controlplane.storage.certificates.cluster_authority import ServerIdentity
from events.clock import Clock, utc_now
from events.errors import StoreUnavailable
from events.ids import ClusterUid

RENEWED_AFTER = timedelta(days=2)


class TrustedCa(Protocol):
    """The CA whose nodes are believed."""

    @property
    def pem(self) -> str: ...


class ServerAuthority(Protocol):
    """Who signs for one cluster; `ClusterAuthorities` is one."""

    @property
    def cluster(self) -> TrustedCa: ...

    def server_identity(self, *, now: datetime) -> ServerIdentity:
        """Raises KafkaUnavailable."""


class ServerAuthorities(Protocol):
    """Who signs for this process: the CAs themselves, or a loop that reads them for a portal."""

    def of(self, uid: ClusterUid) -> ServerAuthority | None:
        """None where a cluster has none yet. Raises AuthorityLost, KafkaUnavailable, StoreUnavailable."""


@dataclass(slots=True)
class _Shown:
    identity: ServerIdentity
    authorities: ServerAuthority
    context: ssl.SSLContext
    since: datetime


class ServerIdentities:
    """Thread-safe. Without `authorities` there is none: of a process nobody signs for."""

    def __init__(self, authorities: ServerAuthorities | None, clock: Clock = utc_now) -> None:
        self._authorities, self._clock = authorities, clock
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}
        self._shown: dict[str, _Shown] = {}

    def know(self, view: ClusterView) -> None:
        """Whether that cluster's nodes speak TLS; of one nobody has told of they do not."""
        with self._lock:
            if view.nodes_speak_tls:
                self._names[view.uid] = view.name

    def context(self, cluster: str) -> ssl.SSLContext | None:
        """See BrokerTls."""
        shown = self._of(cluster)
        return shown.context if shown is not None else None

    def properties(self, cluster: str) -> Mapping[str, str]:
        """See BrokerTls."""
        shown = self._of(cluster)
        if shown is None:
            return {}
        return {
            "security.protocol": "ssl",
            "ssl.ca.pem": shown.authorities.cluster.pem,
            "ssl.certificate.pem": shown.identity.issued.pem,
            "ssl.key.pem": shown.identity.key_pem,
        }

    def _of(self, cluster: str) -> _Shown | None:
        """Raises KafkaUnavailable."""
        with self._lock:
            name = self._names.get(cluster)
            if name is None:
                return None
            shown, now = self._shown.get(cluster), self._clock()
            if shown is None or not timedelta() <= now - shown.since < RENEWED_AFTER:
                shown = self._shown[cluster] = self._renewed(cluster, name, shown, now)
            return shown

    def _renewed(self, cluster: str, name: str, shown: _Shown | None, now: datetime) -> _Shown:
        authorities = shown.authorities if shown is not None else self._read(cluster, name)
        context = shown.context if shown is not None else _believing(authorities.cluster.pem)
        identity = authorities.server_identity(now=now)
        # `ssl` reads keys from files only: this one is in memory, and no disk ever has it.
        with os.fdopen(os.memfd_create("kedge-tls"), "wb") as file:
            file.write(f"{identity.key_pem}{identity.issued.pem}".encode())
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        return _Shown(identity, authorities, context, now)

    def _read(self, cluster: str, name: str) -> ServerAuthority:
        what, why = "signing this server's certificate", "none was made yet: it is made with the first node's"
        if self._authorities is None:
            why = "this process may not read the keys of CAs; the loop's process dials this cluster"
            raise KafkaUnavailable(what=what, where=name, why=why)
        try:
            found = self._authorities.of(ClusterUid(cluster))
        except (AuthorityLost, StoreUnavailable) as error:
            raise KafkaUnavailable(what=what, where=name, why=str(error)) from error
        if found is None:
            raise KafkaUnavailable(what=what, where=name, why=why)
        return found


def _believing(ca_pem: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=ca_pem)
    return context
