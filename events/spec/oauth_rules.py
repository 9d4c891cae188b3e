"""Rules about listeners that ask for tokens of an OpenID provider: what has to be said for a token to be judged, where
the provider may be, and what no token may come to be by the name that stands in it.
"""

import binascii
import ipaddress
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from events.spec import problems as p
from events.spec.clients import Access
from events.spec.kafka_rules import is_migrated
from events.spec.model import KafkaSection, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.security import DEFAULT_CLAIM, DEFAULT_CLOCK_SKEW_S, Authentication, Authorization, Listener

_LISTENERS: Path = ("spec", "listeners")
_LOCAL = "local"
_MARKS = re.compile(r"(-----(?:BEGIN|END) CERTIFICATE-----)")


def oauth_problems(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """Everything wrong with listeners that ask for tokens. `sections` are the sound ones, by python name."""
    listeners: tuple[Listener, ...] | None = sections.get("listeners")
    if listeners is None:
        return
    kafka: KafkaSection | None = sections.get("kafka")
    pools: tuple[Pool, ...] = sections.get("pools") or ()
    is_local = bool(pools) and all(pool.place.cloud == _LOCAL for pool in pools)
    for index, listener in enumerate(listeners):
        path: Path = (*_LISTENERS, index, "authentication")
        if listener.authentication.type == "oauth":
            yield from _offered(kafka, listener, path, where)
            yield from _judged(listener, path, where)
            yield from _addresses(listener.authentication, path, where, is_local=is_local)
            yield from _ca(listener.authentication, path, where)
        else:
            yield from _said_for_nothing(listener.authentication, path, where)
    yield from _one_provider(listeners, where)
    authorization: Authorization | None = sections.get("authorization")
    if authorization is not None:
        yield from _super_users(authorization, listeners, where)
        yield from _anonymous(authorization, listeners, sections.get("access"), where)


def _offered(kafka: KafkaSection | None, listener: Listener, path: Path, where: Positions) -> Iterator[Problem]:
    if kafka is not None and (kafka.mode == "zookeeper" or is_migrated(kafka)):
        why = "in mode `zookeeper`" if kafka.mode == "zookeeper" else f"with Kafka {kafka.version}"
        message = f"listener `{listener.name}` is to ask for tokens, which is not offered {why}"
        yield where.problem(p.OAUTH, (*path, "type"), message, "Use `scram-sha-512`, or mode `kraft` with Kafka 4.")


def _judged(listener: Listener, path: Path, where: Positions) -> Iterator[Problem]:
    asked = listener.authentication
    for key, value, example in (
        ("issuer", asked.issuer, "https://login.example.com/realms/kafka"),
        ("jwks", asked.jwks, "https://login.example.com/realms/kafka/certs"),
        ("audience", asked.audience, "kafka-orders"),
    ):
        if value is None:
            message = f"listener `{listener.name}` asks for tokens, and does not say `{key}`"
            fix = f"Write `{key}`, as in `{key}: {example}`."
            yield where.problem(p.OAUTH, (*path, "type"), message, fix)


def _addresses(asked: Authentication, path: Path, where: Positions, *, is_local: bool) -> Iterator[Problem]:
    for key, value in (("issuer", asked.issuer), ("jwks", asked.jwks)):
        if value is not None and (why := _why_unsafe(urlsplit(value), is_local=is_local)):
            message = f"`{shorten(value)}` {why}"
            yield where.problem(p.OAUTH_ADDRESS, (*path, key), message, "Write the provider's https address.")


def _why_unsafe(url: SplitResult, *, is_local: bool) -> str:
    """ "" where brokers' machines may fetch from there."""
    try:
        host, _ = url.hostname or "", url.port
    except ValueError:
        return "is no address: its port is none"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None and (address.is_link_local or address.is_unspecified or address.is_multicast):
        return "is at an address where clouds tell a VM its secrets, or nobody is"
    is_loopback = host == "localhost" or (address is not None and address.is_loopback)
    if is_loopback and not is_local:
        return "is each broker's own machine: no provider is there"
    if url.scheme == "http" and not is_loopback:
        return "is plain HTTP: whoever is on the way could answer with keys of their own"
    return ""


def _ca(asked: Authentication, path: Path, where: Positions) -> Iterator[Problem]:
    if asked.ca is None:
        return
    message = ""
    try:
        believed = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        believed.load_verify_locations(cadata=pem_lines(asked.ca))
        authorities = len(believed.get_ca_certs())
        given = len({part.strip() for part in asked.ca.split("-----BEGIN CERTIFICATE-----") if part.strip()})
        if authorities < given:
            message = f"{given - authorities} of the {given} certificates of `ca` are no CA's"
    except (ssl.SSLError, ValueError, binascii.Error):
        message = "`ca` cannot be read as certificates"
    if message:
        fix = "Paste the certificate of the CA that signed the provider's, in PEM, under `ca: |`."
        yield where.problem(p.OAUTH_CA, (*path, "ca"), message, fix)


def pem_lines(folded: str) -> str:
    """Certificates of a spec, which has them on one line, in lines as tools read them."""
    lines = (line.strip() for line in _MARKS.sub(r"\n\1\n", folded).splitlines())
    return "".join(f"{part}\n" for line in lines for part in ([line] if line.startswith("-----") else line.split()))


def _said_for_nothing(asked: Authentication, path: Path, where: Positions) -> Iterator[Problem]:
    said = {
        "issuer": asked.issuer is not None,
        "jwks": asked.jwks is not None,
        "audience": asked.audience is not None,
        "principalClaim": asked.principal_claim != DEFAULT_CLAIM,
        "ca": asked.ca is not None,
        "clockSkew": asked.clock_skew != DEFAULT_CLOCK_SKEW_S,
    }
    for key in (key for key, is_said in said.items() if is_said):
        message = f"`{key}` is about tokens, and this listener asks for none: its type is `{asked.type}`"
        yield where.problem(p.OAUTH, (*path, key), message, "Leave it out, or write `type: oauth`.", key=True)


def _one_provider(listeners: Sequence[Listener], where: Positions) -> Iterator[Problem]:
    first: Listener | None = None
    for index, listener in enumerate(listeners):
        asked = listener.authentication
        if asked.type != "oauth" or asked.issuer is None:
            continue
        if first is not None and asked.issuer != first.authentication.issuer:
            message = (
                f"listeners `{first.name}` and `{listener.name}` believe two providers: `alice` of the one would be "
                "`alice` of the other"
            )
            fix = "Have one provider name users, which may pass on those of the other."
            yield where.problem(p.OAUTH_NAMES, (*_LISTENERS, index, "authentication", "issuer"), message, fix)
        first = first or listener


def _super_users(authorization: Authorization, listeners: Sequence[Listener], where: Positions) -> Iterator[Problem]:
    asking = next((one.name for one in listeners if one.authentication.type == "oauth"), "")
    if asking and authorization.super_users:
        named = authorization.super_users[0]
        message = (
            f"`{shorten(named)}` is a super user, and a token at listener `{asking}` that says so would be one, too"
        )
        fix = "Take `superUsers` away, and give rights by a `KafkaUser` with `administrator: true`, each by its name."
        yield where.problem(p.OAUTH_NAMES, ("spec", "authorization", "superUsers"), message, fix, key=True)


def _anonymous(
    authorization: Authorization, listeners: Sequence[Listener], access: Access | None, where: Positions
) -> Iterator[Problem]:
    """Who may reach no listener that asks nobody gets what is given there by a token that says `ANONYMOUS`."""
    if authorization.anonymous != "full" or access is None:
        return
    unasked = [listener for listener in listeners if not listener.asks]
    may_come = [network for listener in unasked for network in _networks(listener, access)]
    for index, listener in enumerate(listeners):
        if not unasked or listener.authentication.type != "oauth":
            continue
        beyond = [one for one in _networks(listener, access) if not any(one.subnet_of(known) for known in may_come)]
        if beyond:
            message = (
                f"`{unasked[0].name}` asks nobody who they are and lets them do everything, and does not let in "
                f"{beyond[0]}: a token at listener `{listener.name}` that says `ANONYMOUS` may do the same from there"
            )
            fix = "Write `anonymous: refuse`, or let the same clients in at both until nobody needs the open one."
            yield where.problem(p.OAUTH_NAMES, (*_LISTENERS, index), message, fix)


def _networks(listener: Listener, access: Access) -> list[ipaddress.IPv4Network]:
    """Of its clients; what is no network is told by itself."""
    found: list[ipaddress.IPv4Network] = []
    for text in access.clients if listener.clients is None else listener.clients:
        with suppress(ValueError):
            found.append(ipaddress.IPv4Network(text))
    return found
