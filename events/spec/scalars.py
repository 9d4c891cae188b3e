"""How a YAML scalar becomes a value: the type of the field decides, never the look of the text.

YAML guesses: `4.10` becomes 4.1, `no` becomes false, `0123` becomes 83. Here a field of text gets the very characters
of the file and a field of numbers accepts digits only, so none of these guesses is ever made.
"""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

MAX_SECONDS = 7 * 24 * 3600

_DIGITS = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_DURATION = re.compile(r"(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?", re.ASCII)

DNS_LABEL = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
CLOUD_WORD = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
RELEASE = r"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$"
LEVEL = r"^[0-9]{1,3}\.[0-9]{1,3}$"
ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
LISTENER_NAME = r"^[A-Z][A-Z0-9_]{0,31}$"
HOST_NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"
TOPIC_NAME = r"^[A-Za-z0-9._-]{1,249}$"
TOPIC_PATTERN = r"^([A-Za-z0-9._-]{1,249}\*?|\*)$"
USER_NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"
NETWORK = r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$"
CLOCK_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
TIME_ZONE = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$"
PEER_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$"
KAFKA_UUID = r"^[A-Za-z0-9_-]{22}$"
CLUSTER_ID = r"^[!-~]([ -~]{0,253}[!-~])?$"
FOREIGN_LISTENER = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"
LOGGER_NAME = r"^[A-Za-z_][A-Za-z0-9_.$-]{0,199}$"
PROPERTY_KEY = r"^[^\x00-\x20\x7f=:#!\\]{1,255}$"
ARCHIVE_URL = r"^(https://[A-Za-z0-9.:\[\]_-]{1,255}/[!-\"$->A-~]{1,1700}|file:///[!-\"$->@-~]{1,1700})$"
SHA256 = r"^[0-9a-f]{64}$"
WEB_URL = r"^https?://[A-Za-z0-9.:\[\]_-]{1,255}(/[!$&(-+.-;=@-Z_a-z~%-]{0,1000})?$"
CLAIM_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$"
AUDIENCE = r"^[!#-+.-\[\]-~-]{1,255}$"
CA_CERTIFICATES = (
    r"^-----BEGIN CERTIFICATE-----( [A-Za-z0-9+/=]{1,76})+ -----END CERTIFICATE-----"
    r"( -----BEGIN CERTIFICATE-----( [A-Za-z0-9+/=]{1,76})+ -----END CERTIFICATE-----){0,15}$"
)

FORM_IN_WORDS = {
    DNS_LABEL: "a DNS label: a to z, 0 to 9 and dashes inside, at most 63 characters",
    CLOUD_WORD: "a cloud's word: letters, digits, and dots, dashes or underscores inside, at most 63 characters",
    RELEASE: "a full Kafka version of three numbers, as in 4.1.1",
    LEVEL: "a metadata level of two numbers, as in 4.2",
    ONE_LINE: "one line of text without control characters",
    LISTENER_NAME: "a listener name: A to Z, 0 to 9 and underscores, at most 32 characters",
    HOST_NAME: "a DNS name in lower case",
    TOPIC_NAME: "a topic name: letters, digits, dots, dashes and underscores, at most 249 characters",
    TOPIC_PATTERN: "a topic name, the beginning of names with `*` behind it, or `*` alone",
    USER_NAME: "a user name: a to z, 0 to 9, and dots, dashes or underscores after the first, at most 63 characters",
    NETWORK: "an IPv4 network with its length, as in 10.8.0.0/16",
    CLOCK_TIME: "a time of day, as in 02:30",
    TIME_ZONE: "the name of a time zone, as in Europe/Zurich or UTC",
    PEER_NAME: "a host name or an IPv4 address",
    KAFKA_UUID: "an id of Kafka's, 22 characters of letters, digits, dashes and underscores",
    CLUSTER_ID: "the id Kafka tells: printable ASCII, no blank at either end, at most 255 characters",
    FOREIGN_LISTENER: "a listener name: letters, digits, dots, dashes and underscores, at most 128 characters",
    ARCHIVE_URL: "an address that begins with https:// and has a path, without a user, a query or a fragment; on the "
    "local cloud file:/// and a path",
    SHA256: "a SHA-256: 64 hex digits in lower case",
    WEB_URL: "an address that begins with https://, without a user, a query or a fragment",
    CLAIM_NAME: "the name of a claim, as in sub or preferred_username",
    AUDIENCE: "an audience: printable ASCII without blanks, commas and quotes, at most 255 characters",
    CA_CERTIFICATES: "certificates in PEM, at most 16, and nothing else: no key",
    LOGGER_NAME: "the name of a logger, as in kafka.server.ReplicaManager, or root",
    PROPERTY_KEY: "a property name: no blanks, no control characters, none of = : # ! \\",
}
"""The words people read instead of a regular expression."""


class PlainText(str):
    """A scalar that stood in the YAML file without quotes. Behaves as text; only it may be read as a number."""

    __slots__ = ()


def whole(value: Any) -> int:
    """A whole number from an int or from plain digits; quoted digits are text and are refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, PlainText) and _DIGITS.fullmatch(value):
        return int(value)
    raise PydanticCustomError("kedge_whole", "must be a whole number")


def flag(value: Any) -> bool:
    """A bool from a bool or from plain `true` or `false`; `yes`, `on` and the like are text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, PlainText) and value in ("true", "false"):
        return value == "true"
    raise PydanticCustomError("kedge_flag", "must be true or false")


def seconds(value: Any) -> int:
    """Seconds from an int, plain digits, or text as in `90s`, `5m`, `1h30m`."""
    if isinstance(value, str) and value:
        found = _DURATION.fullmatch(value)
        if found is not None:
            hours, minutes, rest = (int(part or 0) for part in found.groups())
            return _bounded(3600 * hours + 60 * minutes + rest)
    try:
        return _bounded(whole(value))
    except PydanticCustomError:
        raise PydanticCustomError("kedge_seconds", "must be a duration") from None


def _bounded(total: int) -> int:
    if not 0 <= total <= MAX_SECONDS:
        raise PydanticCustomError("kedge_seconds", "must be a duration")
    return total


def property_text(value: Any) -> Any:
    """Text of a property from a bool or number of Python; everything else is left to the field's own check."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value


Whole = Annotated[int, BeforeValidator(whole)]
Flag = Annotated[bool, BeforeValidator(flag)]
Seconds = Annotated[
    int,
    BeforeValidator(seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_SECONDS},
                {"type": "string", "pattern": r"^(?=.)([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?$"},
            ]
        }
    ),
]


def _text(pattern: str, *, also: tuple[str, ...] = ()) -> Any:
    """Text of one form. `also` lists JSON types an editor should let pass, because the field takes their characters."""
    shape: dict[str, Any] = {"type": ["string", *also] if also else "string", "pattern": pattern}
    return (StringConstraints(pattern=pattern), WithJsonSchema(shape))


DnsLabel = Annotated[str, *_text(DNS_LABEL, also=("integer",))]
CloudWord = Annotated[str, *_text(CLOUD_WORD, also=("number",))]
KafkaRelease = Annotated[str, *_text(RELEASE)]
MetadataLevel = Annotated[str, *_text(LEVEL, also=("number",))]
OneLine = Annotated[str, *_text(ONE_LINE, also=("number", "boolean"))]
ListenerName = Annotated[str, *_text(LISTENER_NAME)]
HostName = Annotated[str, *_text(HOST_NAME)]
TopicName = Annotated[str, *_text(TOPIC_NAME, also=("number",))]
TopicPattern = Annotated[str, *_text(TOPIC_PATTERN, also=("number",))]
UserName = Annotated[str, *_text(USER_NAME, also=("integer",))]
"""A closed alphabet: `super.users` is split at `;`, and a user called `CN=...` would be the node of that name."""
NetworkText = Annotated[str, *_text(NETWORK)]
ClockTime = Annotated[str, *_text(CLOCK_TIME)]
TimeZone = Annotated[str, *_text(TIME_ZONE)]
PeerName = Annotated[str, *_text(PEER_NAME, also=("number",))]
ClusterId = Annotated[str, *_text(CLUSTER_ID, also=("number",))]
"""`kafka-storage format -t` takes any text from Kafka 3.7 on; the tool itself makes ids of the form of `KafkaUuid`."""
ForeignListener = Annotated[str, *_text(FOREIGN_LISTENER, also=("number",))]
"""Kafka knows listeners by any case (`ListenerName.normalised`)."""
KafkaUuid = Annotated[str, *_text(KAFKA_UUID)]
LoggerName = Annotated[str, *_text(LOGGER_NAME)]
PropertyKey = Annotated[str, *_text(PROPERTY_KEY)]
ArchiveUrl = Annotated[str, *_text(ARCHIVE_URL)]
WebUrl = Annotated[str, *_text(WEB_URL)]
ClaimName = Annotated[str, *_text(CLAIM_NAME)]
Audience = Annotated[str, *_text(AUDIENCE, also=("number",))]
"""Kafka splits its list of audiences at commas."""
CaCertificates = Annotated[
    str, StringConstraints(pattern=CA_CERTIFICATES), WithJsonSchema({"type": "string", "pattern": "^-----BEGIN CERT"})
]
"""On one line, as the loader folds the lines of certificates."""
Sha256 = Annotated[str, *_text(SHA256, also=("number",))]
PropertyText = Annotated[
    str,
    BeforeValidator(property_text),
    StringConstraints(pattern=ONE_LINE),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
