"""What a broker has in `server.properties` for a listener that asks for tokens. Pure text; the values were run with
Kafka 4.1 and 4.3.

The keys that sign tokens are a file, which the agent keeps up to date and Kafka reads again when it has changed
(`JwksFileVerificationKeyResolver`). By an https address Kafka would fetch them by itself, and not start at all while
the provider is away (KIP-768).
"""

from pathlib import Path

from agent.wire import ServiceTls, TlsListener, TokenIssuer

ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""Java's property: Kafka exits at a key file, or an address, that is not in it."""
NO_KEYS = b'{"keys":[]}\n'
"""Kafka starts with it, and takes no token."""

_REAUTHENTICATE_S = 3600
_MECHANISM = "OAUTHBEARER"
_CLASSES = "org.apache.kafka.common.security.oauthbearer"


def token_properties(listener: TlsListener, asked: TokenIssuer, folder: Path) -> dict[str, str]:
    """The validator is named: the one that 4.1.1 takes by itself verifies no signature (seen: `DefaultJwtValidator`
    becomes the client's). KIP-368: a connection ends with its token, or after the time that is given."""
    prefix = f"listener.name.{listener.name.lower()}"
    own = f"{prefix}.{_MECHANISM.lower()}"
    return {
        f"{prefix}.sasl.enabled.mechanisms": _MECHANISM,
        f"{own}.sasl.jaas.config": f"{_CLASSES}.OAuthBearerLoginModule required;",
        f"{own}.sasl.server.callback.handler.class": f"{_CLASSES}.OAuthBearerValidatorCallbackHandler",
        f"{own}.connections.max.reauth.ms": str(1000 * (listener.reauthenticate_s or _REAUTHENTICATE_S)),
        f"{prefix}.sasl.oauthbearer.jwt.validator.class": f"{_CLASSES}.BrokerJwtValidator",
        f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": key_file(folder, listener).as_uri(),
        f"{prefix}.sasl.oauthbearer.expected.issuer": asked.issuer,
        f"{prefix}.sasl.oauthbearer.expected.audience": asked.audience,
        f"{prefix}.sasl.oauthbearer.sub.claim.name": asked.principal_claim,
        f"{prefix}.sasl.oauthbearer.clock.skew.seconds": str(asked.clock_skew_s),
    }


def key_file(folder: Path, listener: TlsListener) -> Path:
    """The keys that sign tokens of a listener (JWKS)."""
    return folder / f"jwks-{listener.name.lower()}.json"


def allowed_urls(tls: ServiceTls | None, folder: Path) -> tuple[str, ...]:
    """Java's option by which Kafka may read the key files; none where no listener asks for tokens."""
    files = [key_file(folder, one).as_uri() for one, _ in tls.token_listeners] if tls is not None else []
    return (f"-D{ALLOWED_URLS}={','.join(files)}",) if files else ()
