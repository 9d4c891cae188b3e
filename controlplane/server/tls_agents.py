"""The server's side of TLS for agents: one context for every door, whose certificate is renewed in place."""

import logging
import os
import ssl
from collections.abc import Iterable
from datetime import timedelta

from controlplane.server.settings import Settings
from controlplane.storage.certificates.authority import Authority, AuthorityRefused, load_or_make
from controlplane.storage.home import Home
from events.clock import Clock, utc_now

_log = logging.getLogger(__name__)

_RENEWED_BEFORE = timedelta(days=30)
_CA_ENDS_SOON = timedelta(days=365)
_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which `ssl` has no name for."""


class AgentTls:
    """Shows agents a certificate of our CA, and takes theirs if it is of our CA and for clients. New handshakes get the
    renewed one; nothing is restarted.

    Who has none gets in: to enrol, and agents of a release before. One that is over gets in, too, for what it still
    opens is judged by the routes (`controlplane.api.auth`): refused in the handshake, a VM that was off for a month
    could not even say who it is.
    """

    def __init__(self, authority: Authority, names: Iterable[str], *, clock: Clock = utc_now) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.load_verify_locations(cadata=authority.pem)
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.verify_flags |= _NO_CHECK_TIME
        self._authority = authority
        self._names = tuple(names)
        self._clock = clock
        self._renew()

    def renew_if_due(self) -> bool:
        """Has a fresh certificate in force when the one shown ends soon."""
        if self._clock() < self._not_after - _RENEWED_BEFORE:
            return False
        self._renew()
        return True

    def _renew(self) -> None:
        now = self._clock()
        issued = self._authority.issue(self._names, now=now)
        # `ssl` reads keys from files only: this one is in memory, and no disk ever has it.
        with os.fdopen(os.memfd_create("kedge-tls"), "wb") as file:
            file.write(issued.key_pem + issued.chain_pem)
            file.flush()
            self.context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        self._not_after = issued.not_after
        if self._authority.not_after - now < _CA_ENDS_SOON:
            _log.warning("the CA of agents ends on %s: no agent is heard after that", self._authority.not_after.date())


def authority_of(settings: Settings, home: Home, *, clock: Clock = utc_now) -> Authority | None:
    """The CA that agents of this home believe; None when they are served without TLS.

    Raises AuthorityRefused when VMs were told to believe another one than the home holds, or one that is lost.
    """
    told, told_ca = home.agent_url() or "", home.agent_ca()
    if not told.startswith("https://"):
        return load_or_make(home.path, home.installation().id, now=clock()) if settings.agents.over_tls else None
    lost = [name for name in ("ca.pem", "ca-key.pem", "agent-ca") if not (home.path / name).exists()]
    if lost:
        raise AuthorityRefused(
            f"VMs were told {told}, and {' and '.join(lost)} of {home.path} is missing: they believe no other CA. Put "
            "it back. A copy of `ca.pem` is on every VM (`agent/ca.pem`); `agent-ca` is the SHA-256 of its DER, in hex."
            " Only if no VM lives that was told so: delete `agent-url`"
        )
    authority = load_or_make(home.path, home.installation().id, now=clock())
    if authority.sha256 != told_ca:
        raise AuthorityRefused(
            f"VMs were told to believe the CA with SHA-256 {told_ca}, {home.path}/ca.pem has {authority.sha256}: put "
            "the `ca.pem` and `ca-key.pem` back that were there when they were made"
        )
    return authority
