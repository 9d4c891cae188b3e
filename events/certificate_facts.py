"""Certificates that nodes of a cluster show each other: which were signed, and until when."""

from dataclasses import dataclass
from datetime import datetime

from events.registry import fact


@fact("authorities.made", schema=1)
@dataclass(frozen=True, slots=True)
class AuthoritiesMade:
    """The two CAs of a cluster, which it keeps: their certificates (PEM), which are no secret."""

    cluster: str
    clients: str


@fact("certificate.issued", schema=1)
@dataclass(frozen=True, slots=True)
class CertificateIssued:
    """The cluster CA signed a key that was made on this VM. `serial` is hex; it is believed from `since` to `until`."""

    key: str
    serial: str
    since: datetime
    until: datetime
