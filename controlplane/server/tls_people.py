"""TLS for people off this machine: a certificate of theirs, read again when its file changes; and who may listen so."""

import logging
import ssl
from pathlib import Path

from controlplane.api.access.accounts import People
from controlplane.server.settings import Settings

_log = logging.getLogger(__name__)


class PeopleDoorRefused(Exception):
    """People elsewhere are not served as things are. What now: give up; a person mends what the message says."""


class PeopleTls:
    """One context; new handshakes get the certificate that is in the files now. Raises PeopleDoorRefused at first."""

    def __init__(self, cert: Path, key: Path) -> None:
        self._cert, self._key = cert, key
        try:
            self._seen = self._stamp()
            # A pair that does not fit is never half in force: it is tried on a context of its own first.
            self.context = _context(cert, key)
        except (OSError, ssl.SSLError) as error:
            raise PeopleDoorRefused(
                f"portal.cert {cert} and portal.key {key} cannot be used: {error}. Both are PEM, the certificate first "
                "and its chain after it, readable by this user"
            ) from error

    def reload_if_changed(self) -> bool:
        """Has a changed pair in force. One that cannot be used is told in the log, and the one before it goes on."""
        try:
            stamp = self._stamp()
            if stamp == self._seen:
                return False
            self._seen = stamp
            _context(self._cert, self._key)
            self.context.load_cert_chain(self._cert, self._key)
        except (OSError, ssl.SSLError) as error:
            _log.warning("the changed certificate %s is not used, the one before it goes on: %s", self._cert, error)
            return False
        return True

    def _stamp(self) -> tuple[tuple[int, int, int], ...]:
        found = (path.stat() for path in (self._cert, self._key))
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in found)


def people_tls(settings: Settings, people: People) -> PeopleTls | None:
    """What people elsewhere are served with; None where they are not. Raises PeopleDoorRefused, StoreUnavailable."""
    if not settings.portal.host or settings.portal.cert is None or settings.portal.key is None:
        return None
    if settings.oidc is None and not people.users.all():
        raise PeopleDoorRefused(
            f"portal.host is {settings.portal.host}, and nobody could sign in: there is no user and no `[oidc]`. Start "
            "once without portal.host: that makes the user admin and prints the password; or set `[oidc]`"
        )
    return PeopleTls(settings.portal.cert, settings.portal.key)


def _context(cert: Path, key: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_cert_chain(cert, key)
    return made
