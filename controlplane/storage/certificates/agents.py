"""The certificate an agent shows: whose it is, and until when.

The handshake proves that our CA signed it and that its key is there. Everything else is judged here and at the routes,
for each request anew: the end of its life by the server's clock, the instance by our records. So nothing is revoked by
list: the certificate of a VM that is retired, or that nobody knows, opens nothing from that moment on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from controlplane.storage.certificates.building import BACKDATED

RENEWED_AFTER = timedelta(days=2)
"""Agents have the other five days of its life to renew it, and the server to be away."""
_CLOCKS_DIFFER = timedelta(minutes=5)
_SCHEME = "kedge:"


@dataclass(frozen=True, slots=True)
class AgentCertificate:
    """`instance` as in `<cluster uid>/<node>.g<n>`, "" in a certificate that names none."""

    instance: str
    since: datetime
    until: datetime

    def is_over(self, now: datetime) -> bool:
        """Its beginning is not looked at: a server whose clock was set back would hear none of its agents."""
        return now >= self.until

    def is_old(self, now: datetime) -> bool:
        """Whether another one is to be asked for. By a clock that has been set back the age is unknown: that is old."""
        return not -_CLOCKS_DIFFER <= now - self.since < RENEWED_AFTER


def identity_uri(instance: str) -> str:
    """What a certificate says of whose it is."""
    return f"{_SCHEME}{instance}"


def read_certificate(der: bytes) -> AgentCertificate:
    """A certificate that the handshake has let in."""
    found = x509.load_der_x509_certificate(der)
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    except x509.ExtensionNotFound:
        uris = []
    instance = uris[0].removeprefix(_SCHEME) if len(uris) == 1 and uris[0].startswith(_SCHEME) else ""
    return AgentCertificate(instance, found.not_valid_before_utc + BACKDATED, found.not_valid_after_utc)
