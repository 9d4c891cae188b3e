"""Certificates that nodes of a cluster show each other: which were signed, and until when; and the way from one CA to
the next."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from events.registry import fact

ReplacedAuthority = Literal["cluster", "clients"]
AuthorityPhaseName = Literal["trust-both", "reissue", "new-alone", "old-alone"]


@fact("authorities.made", schema=1)
@dataclass(frozen=True, slots=True)
class AuthoritiesMade:
    """The two CAs of a cluster, which it keeps: their certificates (PEM), which are no secret; of one of the user's own
    those above it, too, the root last, and in `own_cluster` and `own_clients` the name that the spec has for it."""

    cluster: str
    clients: str
    own_cluster: str = ""
    own_clients: str = ""


@fact("certificate.issued", schema=1)
@dataclass(frozen=True, slots=True)
class CertificateIssued:
    """The cluster CA signed a key that was made on this VM. `serial` is hex; it is believed from `since` to `until`."""

    key: str
    serial: str
    since: datetime
    until: datetime


@fact("certificate.restart_requested", schema=1)
@dataclass(frozen=True, slots=True)
class CertificateRestartRequested:
    """These services are to be started anew where they are, one at a time: each start brings another certificate, and
    whom it believes. `rolling_restart.completed` ends it.

    `keys` are those that served then. `at_once`: what is left of their certificates is too short to wait for a window
    or the end of a freeze. `replacement` is the request of the CA replacement it belongs to, "" where they are old.
    """

    request: str
    keys: tuple[str, ...]
    reason: str
    at_once: bool = False
    replacement: str = ""


@fact("certificates.revoked", schema=1)
@dataclass(frozen=True, slots=True)
class CertificatesRevoked:
    """Somebody else may have this VM: from here on its agent is not recognised, and nothing is signed for it.

    `replaces`: its node gets the next VM, as after `node.replace_requested`; not where it is on its way in or out, or
    gone. `reason` names who asked, and why.
    """

    key: str
    reason: str
    replaces: bool = True


@fact("ca.replace_requested", schema=1)
@dataclass(frozen=True, slots=True)
class AuthorityReplaceRequested:
    """A person wants another CA of this kind: its first phase, `trust-both`, begins. `reason` names who, and why."""

    request: str
    kind: ReplacedAuthority
    reason: str


@fact("ca.made", schema=1)
@dataclass(frozen=True, slots=True)
class NextAuthorityMade:
    """The CA that takes the other one's place (its certificate, PEM), made with the first certificate after that; or
    found then, where it is the user's own: then with its chain, and its name in the spec."""

    request: str
    certificate: str
    own: str = ""


@fact("ca.phase_requested", schema=1)
@dataclass(frozen=True, slots=True)
class AuthorityPhaseRequested:
    """Another phase of it begins: newcomers are born at it, and who serves is started anew for it."""

    request: str
    phase: AuthorityPhaseName
    reason: str


@fact("ca.phase_reached", schema=1)
@dataclass(frozen=True, slots=True)
class AuthorityPhaseReached:
    """Every node was seen to run at this phase. `new-alone` and `old-alone` end the replacement."""

    request: str
    phase: AuthorityPhaseName
