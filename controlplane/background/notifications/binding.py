"""A notifier: where anomalies are told to. One `[[notifiers]]` of the settings; secrets are in files of their own."""

import re
import stat
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from events.secrets import secret
from events.spec.upkeep import AnomalyKind

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class NotifierUnusable(ValueError):
    """A file it names cannot be used. What now: a person puts that right; others are told meanwhile."""


class NotifierBinding(BaseModel):
    """Where to tell, and of what. A webhook's URL may be a secret itself: then it is in `url_file`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="what people call it, as in `oncall`")
    kind: Literal["webhook", "kafka", "log"]
    kinds: tuple[AnomalyKind, ...] = Field(default=(), description="kinds of anomalies it is told; empty: all")
    clusters: tuple[str, ...] = Field(default=(), description="clusters it is told of, by name; empty: all")
    url: str = Field(default="", description="webhook: https, or http on loopback")
    url_file: Path | None = Field(default=None, description="webhook: file with the URL, only yours, in place of `url`")
    secret_file: Path | None = Field(
        default=None, description="webhook: file with the key of its signature, only yours"
    )
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
    def _has_what_its_kind_needs(self) -> "NotifierBinding":
        if self.kind == "webhook" and bool(self.url) == (self.url_file is not None):
            raise ValueError(f"the notifier {self.name} needs one of url and url_file")
        if self.kind == "webhook" and self.url:
            require_safe(self.url, self.name)
        if self.kind == "kafka" and not (self.bootstrap and self.topic):
            raise ValueError(f"the notifier {self.name} needs bootstrap and topic")
        return self

    def wants(self, kind: str, cluster: str) -> bool:
        """Whether it is told of such an anomaly."""
        return (not self.kinds or kind in self.kinds) and (not self.clusters or cluster in self.clusters)

    @property
    def where(self) -> str:
        """Where it tells, for people: never more of a URL than its host."""
        if self.kind == "webhook":
            return urlsplit(self.url).netloc.rpartition("@")[2] if self.url else "the URL in its file"
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
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise NotifierUnusable(f"{whose}: {path} can be read by others: chmod 600 it")
        return secret(path.read_text().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise NotifierUnusable(f"{whose}: {path} cannot be read: {type(error).__name__}") from error
