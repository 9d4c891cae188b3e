"""A zone kept by dynamic updates, signed with TSIG: BIND, Knot, PowerDNS, Windows and many more.

RFC 2136: an update names what must be so before it (section 2.4) and is carried out whole or not at all (3.7), so
nobody's change is overwritten unseen. RFC 8945: the signature.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
from pydantic import SecretStr

from agent.host_port import HostPort
from providers.dns.zone import NOTHING, OWNER_LABEL, HeldName, changed_meanwhile
from providers.errors import AuthFailed, CloudUnavailable, NotFound, ProviderError

_CALL_S = 3.0
"""Of one message over TCP; reading a name takes three."""

_FAMILIES = ("A", "AAAA")

_NOT_AS_BEFORE = frozenset({dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXRRSET})


@dataclass(frozen=True, slots=True)
class TsigKey:
    """A shared secret. `secret` is base64, as in BIND's `key` statement."""

    name: str
    algorithm: str
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class UpdatedZone:
    """A `DnsZone` on its primary server. Thread-safe: each call has a connection of its own.

    `secondaries`: the zone's other authoritative servers that are asked whether they have a change. They are named, and
    not taken from the zone's NS records: what a zone says is no leave to call an address, and behind a hidden primary
    it may list none of them.
    """

    name: str
    server: str
    port: int
    key: TsigKey
    secondaries: tuple[HostPort, ...] = ()

    def read(self, name: str) -> HeldName:
        with self._errors_translated(f"reading {name}"):
            sets = [self._ask(name, kind) for kind in _FAMILIES]
            owner, owner_ttl_s = self._ask(f"{OWNER_LABEL}.{name}", "TXT")
        addresses = frozenset(address for texts, _ in sets for address in texts)
        if not addresses and not owner:
            return NOTHING
        return HeldName(addresses, max(ttl for _, ttl in sets), owner=" ".join(owner), owner_ttl_s=owner_ttl_s)

    def replace(self, name: str, before: HeldName, after: HeldName) -> None:
        update = dns.update.UpdateMessage(self.name, keyring=self._signature())
        for kind in _FAMILIES:
            _swap(update, f"{name}.", kind, before.of_family(kind), after.of_family(kind), after.ttl_s)
        _swap(update, f"{OWNER_LABEL}.{name}.", "TXT", _texts(before.owner), _texts(after.owner), after.owner_ttl_s)
        with self._errors_translated(f"changing {name}"):
            answer = dns.query.tcp(update, self.server, port=self.port, timeout=_CALL_S)
            if answer.rcode() in _NOT_AS_BEFORE:
                raise changed_meanwhile(name)
            self._check(answer.rcode(), f"changing {name}")

    def tells_everywhere(self, name: str, held: HeldName) -> bool:
        """See `DnsZone`. All of them at once, so that some that are away take no longer than one."""
        if not self.secondaries:
            return True
        with ThreadPoolExecutor(len(self.secondaries)) as threads:
            return all([*threads.map(lambda at: self._tells(at, name, held), self.secondaries)])

    def _tells(self, at: HostPort, name: str, held: HeldName) -> bool:
        """Of a secondary. It is asked as by anybody: the key is the primary's."""
        with self._errors_translated(f"reading {name}", at):
            for kind in _FAMILIES:
                values, ttl_s = self._ask(name, kind, at)
                if values != held.of_family(kind) or (values and ttl_s != held.ttl_s):
                    return False
        return True

    def _ask(self, name: str, kind: str, at: HostPort | None = None) -> tuple[tuple[str, ...], int]:
        """The values of a record set and its life; nothing and 0 where the server knows that there is none."""
        query = dns.message.make_query(f"{name}.", kind)
        if at is None:
            query.use_tsig(self._signature())
        asked = at or HostPort(self.server, self.port)
        answer = dns.query.tcp(query, asked.host, port=asked.port, timeout=_CALL_S)
        if answer.rcode() == dns.rcode.NXDOMAIN and answer.flags & dns.flags.AA:
            return (), 0
        self._check(answer.rcode(), f"reading {name}", at)
        if not answer.flags & dns.flags.AA:
            raise NotFound(f"{self._where(at)}: the server answers for {name}, but not as the zone's own")
        found = [s for s in answer.answer if s.rdtype == dns.rdatatype.from_text(kind)]
        values = [_text(value) for each in found for value in each]
        return tuple(sorted(values)), max((each.ttl for each in found), default=0)

    def _check(self, rcode: dns.rcode.Rcode, what: str, at: HostPort | None = None) -> None:
        if rcode == dns.rcode.NOERROR:
            return
        word = dns.rcode.to_text(rcode)
        if at is not None:
            raise CloudUnavailable(f"{self._where(at)}: {what}: {word}; is it a server of the zone?")
        if rcode in (dns.rcode.REFUSED, dns.rcode.NOTAUTH):
            raise AuthFailed(f"{self._where()}: {what}: {word}; is key {self.key.name!r} allowed to?")
        if rcode == dns.rcode.NOTZONE:
            raise NotFound(f"{self._where()}: {what}: {word}")
        raise CloudUnavailable(f"{self._where()}: {what}: {word}")

    @contextmanager
    def _errors_translated(self, what: str, at: HostPort | None = None) -> Iterator[None]:
        """Whatever goes wrong on the way leaves as one of `providers.errors`, with what was asked."""
        try:
            yield
        except ProviderError:
            raise
        except (dns.tsig.PeerError, dns.tsig.BadSignature, dns.message.UnknownTSIGKey) as error:
            raise AuthFailed(f"{self._where()}: {what}: key {self.key.name!r}: {error}") from error
        except (dns.exception.DNSException, OSError, EOFError) as error:
            raise CloudUnavailable(f"{self._where(at)}: {what}: {str(error) or type(error).__name__}") from error

    def _signature(self) -> dns.tsig.Key:
        return dns.tsig.Key(self.key.name, self.key.secret.get_secret_value(), dns.name.from_text(self.key.algorithm))

    def _where(self, at: HostPort | None = None) -> str:
        return f"zone {self.name} on {at or HostPort(self.server, self.port)}"


def _swap(
    update: dns.update.UpdateMessage, name: str, kind: str, before: tuple[str, ...], after: tuple[str, ...], ttl_s: int
) -> None:
    """One record set: the prerequisite that it is `before`, and what makes it `after`."""
    at = dns.name.from_text(name)
    if before:
        update.present(at, kind, *before)
    else:
        update.absent(at, kind)
    if after:
        update.replace(at, ttl_s, kind, *after)
    elif before:
        update.delete(at, kind)


def _texts(owner: str) -> tuple[str, ...]:
    return (f'"{owner}"',) if owner else ()


def _text(value: object) -> str:
    strings = getattr(value, "strings", None)
    return b"".join(strings).decode(errors="replace") if strings is not None else str(value)
