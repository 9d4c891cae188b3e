"""A notifier: who is notified. One `[[notifiers]]` of the settings; secrets are in files of their own."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from agent.host_port import HostPort
from controlplane.background.notifications.notice import Notice
from controlplane.cluster.condition_severity import Severity
from controlplane.runtime.private_file import PrivateFileUnusable, private_text
from events.secrets import secret
from events.spec.housekeeping import AnomalyKind

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_ADDRESS = re.compile(r"[^@\s,<>\"]+@[A-Za-z0-9.-]+", re.ASCII)
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
"""Of the service region US; EU: https://events.eu.pagerduty.com/v2/enqueue."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class NotifierUnusable(ValueError):
    """A file it names cannot be used. What now: a person puts that right; others are told meanwhile."""


NotifierKind: TypeAlias = Literal["webhook", "slack", "pagerduty", "alertmanager", "smtp", "kafka", "log"]
NoticeKind: TypeAlias = AnomalyKind | Literal["proposal"]

_BY_URL = ("webhook", "slack", "alertmanager")
_MOST_GROUP_S = 3600


class SmtpBinding(BaseModel):
    """A mail server and the mail's ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field(description="the mail server", min_length=1)
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="`tls` from the first byte (port 465); `none` on loopback alone"
    )
    sender: str = Field(description="address the mail is from")
    recipients: tuple[str, ...] = Field(description="addresses it goes to", min_length=1)
    user: str = Field(default="", description="whom to sign in as; empty: nobody")

    @field_validator("sender", "recipients")
    @classmethod
    def _addresses(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for address in (value,) if isinstance(value, str) else value:
            if not _ADDRESS.fullmatch(address):
                raise ValueError(f"{address!r} is not a mail address: write name@example.com")
        return value

    @model_validator(mode="after")
    def _not_readable_on_the_way(self) -> Self:
        if self.security == "none" and self.host not in _LOOPBACK:
            raise ValueError(f"mail to {self.host} would go unencrypted off loopback: set security to starttls or tls")
        return self

    @property
    def where(self) -> str:
        """For people."""
        return f"{', '.join(self.recipients)} by {HostPort(self.host, self.port)}"


class NotifierBinding(BaseModel):
    """Whom to notify, and of what. A URL may be a secret itself: then it is in `url_file`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="what people call it, as in `oncall`")
    kind: NotifierKind
    kinds: tuple[NoticeKind, ...] = Field(
        default=(), description="kinds of anomalies it is told, `proposal`; empty: all"
    )
    clusters: tuple[str, ...] = Field(default=(), description="clusters it is told of, by name; empty: all")
    owners: tuple[str, ...] = Field(default=(), description="owners whose clusters it is told of; empty: all")
    severity: Severity = Field(default=Severity.INFO, description="the least severity it is told")
    group_s: int | None = Field(
        default=None, ge=0, le=_MOST_GROUP_S, description="how long notices of a cluster are gathered into one message"
    )
    url: str = Field(default="", description="https, or http on loopback; of Alertmanager without `/api/v2/alerts`")
    url_file: Path | None = Field(default=None, description="file with the URL, only yours, in place of `url`")
    secret_file: Path | None = Field(
        default=None,
        description="file only yours: key of a webhook's signature, PagerDuty's integration key, password for mail",
    )
    smtp: SmtpBinding | None = Field(default=None, description="smtp: the server and the addresses")
    bootstrap: tuple[str, ...] = Field(default=(), description="kafka: brokers, `HOST:PORT`")
    topic: str = Field(default="", description="kafka: the topic; it is not made")
    properties_file: Path | None = Field(
        default=None, description="kafka: file of librdkafka properties, credentials among them, only yours"
    )

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name: a to z, 0 to 9 and dashes inside")
        return name

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        if self.kind in _BY_URL and bool(self.url) == (self.url_file is not None):
            raise ValueError(f"the notifier {self.name} needs one of url and url_file")
        if self.url:
            require_safe(self.url, self.name)
        if self.kind == "pagerduty" and self.secret_file is None:
            raise ValueError(f"the notifier {self.name} needs secret_file, with the integration key of a service")
        if self.kind == "smtp" and self.smtp is None:
            raise ValueError(f"the notifier {self.name} needs smtp: host, sender, recipients")
        if self.kind == "smtp" and self.smtp is not None and bool(self.smtp.user) != (self.secret_file is not None):
            raise ValueError(f"the notifier {self.name} needs both of smtp.user and secret_file, or neither")
        if self.kind == "kafka" and not (self.bootstrap and self.topic):
            raise ValueError(f"the notifier {self.name} needs bootstrap and topic")
        return self

    @property
    def gathers_s(self) -> int:
        """Seconds for which notices of a cluster are gathered: half a minute where people read them as one message."""
        if self.group_s is not None:
            return self.group_s
        return 30 if self.kind in ("slack", "smtp") else 0

    def wants(self, notice: Notice) -> bool:
        """Whether it is told of this."""
        return (
            (not self.kinds or notice.kind in self.kinds)
            and (not self.clusters or notice.cluster in self.clusters)
            and (not self.owners or notice.owner in self.owners)
            and self.severity.covers(Severity(notice.severity))
        )

    @property
    def where(self) -> str:
        """Where it tells, for people: never more of a URL than its host."""
        if self.kind in _BY_URL:
            return urlsplit(self.url).netloc.rpartition("@")[2] if self.url else "the URL in its file"
        if self.kind == "smtp" and self.smtp is not None:
            return self.smtp.where
        if self.kind == "pagerduty":
            return urlsplit(self.url or PAGERDUTY).netloc
        return f"{self.topic} at {', '.join(self.bootstrap)}" if self.kind == "kafka" else "the server's log"


def require_safe(url: str, name: str) -> None:
    """Raises ValueError for a URL that would carry notices readable over a network, or is none. It is not repeated:
    it may be a secret."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the URL of the notifier {name} is none: write https://HOST/PATH")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(f"the URL of the notifier {name} is plain HTTP off loopback: write https")
    if _is_link_local(parts.hostname):
        raise ValueError(f"the URL of the notifier {name} is link-local, where clouds tell a VM its credentials")


def _is_link_local(host: str) -> bool:
    """Whether it is such an address: 169.254.0.0/16 and fe80::/10, and those of IPv4 written as one of IPv6."""
    try:
        address = ip_address(host)
    except ValueError:
        return False  # a name
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_link_local


def kept_secret(path: Path, whose: str) -> SecretStr:
    """The text of a file that nobody else can read. `whose` it is, for people. Raises NotifierUnusable."""
    try:
        return secret(private_text(path).strip())
    except PrivateFileUnusable as error:
        raise NotifierUnusable(f"{whose}: {path} {error}") from error
