"""How a portal gets in at brokers that speak TLS: it makes a key, which stays in its memory, and the loop, which alone
reads the keys of CAs, signs a certificate for it. Requests and certificates pass through rows of the latest values;
nothing in them is a secret.

A portal asks by what its role lets it write, so who has that role gets a certificate. Brokers take it for a portal,
which looks and changes nothing (`planner.rights.kedge`); for Kedge's server only in a cluster of a release before this
one, until its ACLs are made.
"""

import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.api.services import Fleet
from controlplane.cluster.believed_authorities import believed
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.server.portal_rights import ASKED
from controlplane.server.split.subscriber import LoopSubscriber
from controlplane.storage.certificates.building import RequestRefused, common_name, key_pem
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, ClusterAuthorityStore
from controlplane.storage.certificates.cluster_authority import IssuedCertificate, ServerIdentity
from controlplane.storage.certificates.principals import Member
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.clock import Clock
from events.errors import StoreUnavailable
from events.ids import ClusterUid

_log = logging.getLogger(__name__)

CERTIFIED: Final = "loop-certified"
"""Kind of the rows with what the loop signed: of each cluster, by the portal's name."""
REQUEST: Final = "certificate "
"""What rows of the kind `portal_rights.ASKED` begin with, before the name of a portal."""

SIGNED_ANEW = timedelta(days=1)
"""Certificates count for a week, and a portal takes the next after two days."""
GONE_AFTER = timedelta(days=3)
"""Since a portal last asked; one that is there asks at least every two days, when it takes the next."""
_ASKED_AGAIN, _ASKED_SOON = timedelta(hours=1), timedelta(seconds=5)
_AT_ONCE = 50
"""Signatures of one poll: the loop's word goes out once a second."""


def portal_name(portal_key: bytes) -> str:
    """The same for ever: a portal that starts anew takes the place of what it was, in rows that would pile up."""
    return hmac.digest(portal_key, b"kedge portal certificates 1", hashlib.sha256).hex()[:16]


@dataclass(slots=True)
class PortalCertifier:
    """The loop's side. `Polled` by the leader. What it signed it knows in memory alone: another leader signs anew."""

    fleet: Fleet
    latest: LatestStore
    authorities: ClusterAuthorityStore
    clock: Clock
    _signed: dict[tuple[str, ClusterUid], tuple[str, datetime]] = field(default_factory=dict)

    def poll(self) -> None:
        """See Polled. Raises StoreUnavailable."""
        rows, now = list[LatestValue](), self.clock()
        for portal, request, view in self._due(now):
            if len(rows) == _AT_ONCE:
                break
            self._signed[portal, view.uid] = (_wanted(view, request), now)
            row = self._answer(portal, request, view, now)
            if row is not None:
                rows.append(row)
        if rows:
            self.latest.put_all(rows)
            _log.info("signed certificates of %d clusters for portals, which reach their brokers by them", len(rows))

    def _due(self, now: datetime) -> Iterator[tuple[str, str, ClusterView]]:
        asked = [row for row in self.latest.of_kind(ASKED) if row.subject.name.startswith(REQUEST)]
        living = [row for row in asked if now - row.observed_at < GONE_AFTER]
        views = [view for view in self.fleet.views() if view.nodes_speak_tls and not view.deleted] if living else []
        for row in living:
            portal, request = row.subject.name.removeprefix(REQUEST), str(row.value.get("request", ""))
            for view in views:
                before, at = self._signed.get((portal, view.uid), ("", now))
                if before != _wanted(view, request) or not timedelta() <= now - at < SIGNED_ANEW:
                    yield portal, request, view

    def _answer(self, portal: str, request: str, view: ClusterView, now: datetime) -> LatestValue | None:
        """None where nothing can be signed; the portal says then that it waits for the loop."""
        try:
            nodes = believed(view, "cluster")
            authorities = self.authorities.of(view.uid, cluster=nodes.signer if nodes is not None else "")
            if authorities is None:
                del self._signed[portal, view.uid]  # they are made with its first node's certificate
                return None
            issued = authorities.certify_member(_member(view), request, now=now)
        except (AuthorityLost, RequestRefused) as error:
            _log.warning("no certificate of %s for portal %s: %s", view.name, portal, error)
            return None
        value = {
            "certificate": issued.pem,
            "ca": nodes.bundle if nodes is not None else authorities.cluster.pem,
            "signer": authorities.cluster.pem,
            "serial": issued.serial,
            "since": issued.since.isoformat(),
            "until": issued.until.isoformat(),
        }
        return LatestValue(Subject(CERTIFIED, view.uid, portal), value, "loop", now)


def _wanted(view: ClusterView, request: str) -> str:
    """While a CA is replaced, each phase has others who sign and are believed."""
    nodes = believed(view, "cluster")
    chain = nodes.signer + nodes.bundle if nodes is not None else ""
    return f"{_member(view)} {request}{chain}"


def _member(view: ClusterView) -> Literal["server", "portal"]:
    """Whom brokers take a portal for: one of its own once it has rights there."""
    return "portal" if view.settings.least_rights else "server"


@dataclass(frozen=True, slots=True)
class _TrustedCa:
    pem: str


@dataclass(frozen=True, slots=True)
class ReceivedAuthority:
    """One cluster's, as `ServerIdentities` asks it: each identity is the newest that the loop signed."""

    uid: ClusterUid
    cluster: _TrustedCa
    received: "ReceivedCertificates"

    def identity(self, member: Member, *, now: datetime) -> ServerIdentity:
        """The one the loop signed, whoever it says a portal is. Raises KafkaUnavailable, and KafkaRefused for a node's,
        which it signs for no portal."""
        if member == "node":
            raise KafkaRefused(
                what="acting as a super user",
                where=f"cluster {self.uid}",
                words="a portal apart looks at brokers, and changes nothing there",
                error="PortalApart",
                next_step="Do it with Kafka's own tools as a user who may, or by a server that is not apart.",
            )
        return self.received.identity(self.uid, now)


class ReceivedCertificates:
    """The portal's side, thread-safe: a key of this process, and what the loop signed for it."""

    def __init__(self, portal_key: bytes, latest: LatestStore, subscriber: LoopSubscriber, clock: Clock) -> None:
        self._name = portal_name(portal_key)
        self._latest, self._subscriber, self._clock = latest, subscriber, clock
        key = ec.generate_private_key(ec.SECP256R1())
        request = x509.CertificateSigningRequestBuilder().subject_name(common_name("kedge portal"))
        signed = request.sign(key, hashes.SHA256())
        self._request = signed.public_bytes(serialization.Encoding.PEM).decode()
        self._key_pem, self._public = f"{key_pem(key)}\n", key.public_key()
        self._lock = threading.Lock()
        self._asked_at: datetime | None = None

    def of(self, uid: ClusterUid, *, cluster: str = "") -> ReceivedAuthority:
        """See ServerAuthorities. Raises KafkaUnavailable, StoreUnavailable."""
        row = self._row(uid)
        signer = str(row.value.get("signer", row.value["ca"]))  # a loop of before tells none
        if not signer.startswith(cluster.strip()):
            raise _unavailable(uid, "its CA is being replaced, and the loop signs this portal's certificate anew")
        return ReceivedAuthority(uid, _TrustedCa(str(row.value["ca"])), self)

    def identity(self, uid: ClusterUid, now: datetime) -> ServerIdentity:
        """Raises KafkaUnavailable where the loop has signed none that still counts."""
        try:
            value = self._row(uid).value
        except StoreUnavailable as error:
            raise _unavailable(uid, str(error)) from error
        since, until = (datetime.fromisoformat(str(value[name])) for name in ("since", "until"))
        if now >= until:
            raise _unavailable(uid, f"what the loop signed for it was over at {until:%Y-%m-%d %H:%M} UTC")
        issued = IssuedCertificate(str(value["certificate"]), str(value["serial"]), since, until)
        return ServerIdentity(self._key_pem, issued)

    def _row(self, uid: ClusterUid) -> LatestValue:
        row = self._latest.get(Subject(CERTIFIED, uid, self._name))
        is_ours = row is not None and self._is_ours(str(row.value.get("certificate", "")))
        self._ask(_ASKED_AGAIN if is_ours else _ASKED_SOON)
        if row is None or not is_ours:
            why = (
                self._subscriber.notice() or "the loop signs this portal's certificate; it is there in a second or two"
            )
            raise _unavailable(uid, why)
        return row

    def _is_ours(self, certificate_pem: str) -> bool:
        """A key lives as long as its process: what was signed for the one before opens nothing."""
        try:
            return x509.load_pem_x509_certificate(certificate_pem.encode()).public_key() == self._public
        except ValueError:
            return False

    def _ask(self, after: timedelta) -> None:
        with self._lock:
            now = self._clock()
            if self._asked_at is not None and timedelta() <= now - self._asked_at < after:
                return
            self._asked_at = now
        self._subscriber.ask(f"{REQUEST}{self._name}", {"request": self._request})


def _unavailable(uid: ClusterUid, why: str) -> KafkaUnavailable:
    return KafkaUnavailable(what="showing this portal's certificate", where=f"cluster {uid}", why=why)
