"""How brokers of others are spoken to, by a properties file of librdkafka: TLS, and who Kedge is there.

    security.protocol=sasl_ssl            ssl | sasl_ssl
    ssl.ca.location=/etc/kedge/ca.pem     without it the CAs of this machine are believed
    ssl.certificate.location=...          with ssl.key.location and, where it has one, ssl.key.password
    sasl.mechanism=SCRAM-SHA-512          | SCRAM-SHA-256 | PLAIN
    sasl.username=kedge
    sasl.password=...

What else stands there is refused by its name, and never by its value. Nothing of it is kept but in this process.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from controlplane.kafka.client_properties import client_properties
from controlplane.runtime.private_file import PrivateFileUnusable, private_text
from events.secrets import secret

BOOTSTRAP = "bootstrap.servers"
_PROTOCOL = "security.protocol"
_PROTOCOLS = ("ssl", "sasl_ssl")
_CA, _CERTIFICATE, _KEY, _KEY_PASSWORD = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
)
_MECHANISM, _USER, _PASSWORD = "sasl.mechanism", "sasl.username", "sasl.password"
_SAME = {"sasl.mechanisms": _MECHANISM}
_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_KNOWN = frozenset(
    {BOOTSTRAP, _PROTOCOL, _CA, _CERTIFICATE, _KEY, _KEY_PASSWORD, _MECHANISM, _USER, _PASSWORD, "client.id"}
)


class ClientPropertiesUnusable(ValueError):
    """Nobody can be dialled by them. The words have no value and no path of theirs in them."""


@dataclass(frozen=True, slots=True)
class Sasl:
    """By what name and password."""

    mechanism: str
    username: str
    password: SecretStr


@dataclass(frozen=True, slots=True)
class ClientAccess:
    """How brokers are spoken to. `properties`: the same for librdkafka, without its brokers."""

    context: ssl.SSLContext
    sasl: Sasl | None
    bootstrap: str
    properties: Mapping[str, str] = field(repr=False)


class OneAccess:
    """`BrokerTls` of a person who asks one cluster, and names the file."""

    def __init__(self, access: ClientAccess) -> None:
        self._access = access

    def context(self, cluster: str) -> ssl.SSLContext | None:
        """See BrokerTls."""
        return self._access.context

    def sasl(self, cluster: str) -> Sasl | None:
        """See BrokerTls."""
        return self._access.sasl

    def next_step(self, cluster: str) -> str:
        """See BrokerTls."""
        return "correct what the client properties say, or the address; nothing was changed"

    def properties(self, cluster: str) -> Mapping[str, str]:
        """See BrokerTls."""
        return self._access.properties


def read_access(path: Path) -> ClientAccess:
    """By a file that its owner alone may read, as it is now. Raises ClientPropertiesUnusable."""
    try:
        text = private_text(path)
    except PrivateFileUnusable as error:
        raise ClientPropertiesUnusable(f"the file {error}") from error
    return client_access(client_properties(text))


def client_access(given: Mapping[str, str]) -> ClientAccess:
    """By properties. The files they name are read. Raises ClientPropertiesUnusable."""
    found = {_SAME.get(key, key): value for key, value in given.items()}
    strange = sorted(set(found) - _KNOWN)
    if strange:
        raise ClientPropertiesUnusable(
            f"`{strange[0]}` is not read here; properties of librdkafka are, of these: {', '.join(sorted(_KNOWN))}"
        )
    protocol = found.get(_PROTOCOL, "").lower()
    if protocol not in _PROTOCOLS:
        raise ClientPropertiesUnusable(
            f"`{_PROTOCOL}` has to be ssl or sasl_ssl: without TLS whoever listens learns what is said, passwords too"
        )
    sasl = _sasl(found, protocol)
    told = {key: value for key, value in found.items() if key != BOOTSTRAP}
    return ClientAccess(_context(found), sasl, found.get(BOOTSTRAP, ""), told)


def _sasl(found: Mapping[str, str], protocol: str) -> Sasl | None:
    beside = [key for key in (_MECHANISM, _USER, _PASSWORD) if key in found]
    if protocol == "ssl":
        if beside:
            raise ClientPropertiesUnusable(
                f"`{beside[0]}` stands beside `{_PROTOCOL}=ssl`: write sasl_ssl, or remove it"
            )
        return None
    mechanism = found.get(_MECHANISM, "").upper()
    if mechanism not in _MECHANISMS:
        raise ClientPropertiesUnusable(f"`{_MECHANISM}` has to be one of {', '.join(_MECHANISMS)}")
    missing = [key for key in (_USER, _PASSWORD) if not found.get(key)]
    if missing:
        raise ClientPropertiesUnusable(f"`{missing[0]}` is missing, and {mechanism} asks for it")
    return Sasl(mechanism, found[_USER], secret(found[_PASSWORD]))


def _context(found: Mapping[str, str]) -> ssl.SSLContext:
    """Brokers have to show a certificate of the CA that is for the address they are dialled at: always."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for key in (_CA, _CERTIFICATE, _KEY):
        if key in found and not Path(found[key]).is_absolute():
            raise ClientPropertiesUnusable(f"`{key}` has to be an absolute path: the server may start anywhere")
    if _CA in found:
        _load(_CA, lambda: context.load_verify_locations(cafile=found[_CA]))
    else:
        context.load_default_certs()
    if (_CERTIFICATE in found) != (_KEY in found):
        raise ClientPropertiesUnusable(f"`{_CERTIFICATE}` and `{_KEY}` go together")
    if _KEY in found:
        _load(_KEY, lambda: _private(Path(found[_KEY])))
        password = found.get(_KEY_PASSWORD, "")  # "" rather than None: OpenSSL would ask a person at the terminal
        _load(_CERTIFICATE, lambda: context.load_cert_chain(found[_CERTIFICATE], found[_KEY], password))
    return context


def _private(key: Path) -> None:
    try:
        private_text(key)
    except PrivateFileUnusable as error:
        raise ClientPropertiesUnusable(f"the file of `{_KEY}` {error}") from error


def _load(key: str, load: Callable[[], None]) -> None:
    try:
        load()
    except ClientPropertiesUnusable:
        raise
    except ssl.SSLError as error:
        what = {_CA: "no certificates (PEM)", _CERTIFICATE: "no certificate (PEM) of that key"}.get(key, "no PEM")
        raise ClientPropertiesUnusable(f"`{key}` names {what}: {error.reason or 'unreadable'}") from error
    except OSError as error:
        raise ClientPropertiesUnusable(f"the file of `{key}` cannot be read: {type(error).__name__}") from error
