"""Which CAs sign and which are believed, now: by what is recorded of a cluster. Newcomers are born with it, and
everybody else gets it at the next start.

| phase | signs | believed |
|---|---|---|
| none in hand | the CA | the CA |
| `trust-both` | the old one | both |
| `reissue` | the new one | both |
| `new-alone` | the new one | the new one |
| `old-alone` | the old one | the old one |
"""

import hashlib
from dataclasses import dataclass, replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase
from events.certificate_facts import ReplacedAuthority
from events.spec.model import KafkaClusterDocument

_NEW_SIGNS = (AuthorityPhase.REISSUE, AuthorityPhase.NEW_ALONE)
_END = "\n-----END CERTIFICATE-----"
_BOTH_BELIEVED = (AuthorityPhase.TRUST_BOTH, AuthorityPhase.REISSUE)


@dataclass(frozen=True, slots=True)
class Believed:
    """Of one kind: the certificate (PEM) of the CA that signs, first, and of all that are believed. One of the user's
    own is the chain of its certificates, the root last."""

    signer: str
    all: tuple[str, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """What nodes and clients are given to believe: that of the CA that signs first."""
        return tuple(dict.fromkeys(root_of(pem) for pem in self.all))

    @property
    def bundle(self) -> str:
        """These as one file of PEM."""
        return "".join(self.roots)


def certificates_of(authority: str) -> tuple[str, ...]:
    """Of a CA as it is recorded: its own certificate (PEM), then those above it."""
    if _END not in authority:
        return (f"{authority.strip()}\n",)
    return tuple(f"{part.strip()}{_END}\n" for part in authority.split(_END) if part.strip())


def root_of(authority: str) -> str:
    """The certificate (PEM) by which a CA is believed: its own, where it signed itself."""
    return certificates_of(authority)[-1]


def believed(view: ClusterView, kind: ReplacedAuthority) -> Believed | None:
    """None while the cluster has no CA."""
    if view.vms.authorities is None:
        return None
    now: str = getattr(view.vms.authorities, kind)
    change = view.vms.authority_change
    if change is None or change.kind != kind or not change.certificate:
        return Believed(now, (now,))
    signer, other = (change.certificate, now) if change.phase in _NEW_SIGNS else (now, change.certificate)
    return Believed(signer, (signer, other) if change.phase in _BOTH_BELIEVED else (signer,))


def believed_somewhere(view: ClusterView, kind: ReplacedAuthority) -> tuple[str, ...]:
    """All that any node may believe still: in the last phase of a replacement some were not started anew yet."""
    now, change = believed(view, kind), view.vms.authority_change
    if now is None or change is None or change.kind != kind:
        return now.all if now is not None else ()
    there = (getattr(view.vms.authorities, kind), change.certificate)
    return tuple(dict.fromkeys(pem for pem in (*now.all, *there) if pem))


def authority_digits(pem: str) -> str:
    """Of a CA, to tell it from others in what is folded."""
    return hashlib.sha256(pem.strip().encode()).hexdigest()[:16]


def own_names(document: KafkaClusterDocument) -> dict[ReplacedAuthority, str]:
    """By which names a spec asks for CAs of the user's own; a kind that Kedge makes is not there."""
    security = document.spec.security
    asked: tuple[tuple[ReplacedAuthority, str | None], ...] = (
        ("cluster", security.cluster_ca.own),
        ("clients", security.clients_ca.own),
    )
    return {kind: name for kind, name in asked if name}


def with_next_authority(view: ClusterView, certificate: str) -> ClusterView:
    """The view once the CA that takes the other one's place is made."""
    change = view.vms.authority_change
    if change is None:
        return view
    return replace(view, vms=replace(view.vms, authority_change=replace(change, certificate=certificate)))


def given_up_authority(view: ClusterView) -> str:
    """The CA (its certificate, PEM) that nothing will believe any more, whatever comes; "" while there is a way back to
    it, or none is replaced."""
    change = view.vms.authority_change
    if change is None or view.vms.authorities is None or not change.phase.is_last:
        return ""
    old: str = getattr(view.vms.authorities, change.kind)
    return old if change.phase is AuthorityPhase.NEW_ALONE else change.certificate
