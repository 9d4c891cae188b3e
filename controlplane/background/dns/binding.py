"""A DNS zone this installation may write to. One `[[dns]]` of the settings; secrets are in files of their own."""

import re
import stat
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from agent.host_port import HostPort
from events.secrets import secret
from providers.dns.rfc2136 import TsigKey, UpdatedZone
from providers.dns.zone import LONGEST_TTL_S, DnsZone
from providers.errors import AuthFailed

_NAME = re.compile(r"([a-z0-9_]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}", re.ASCII)

_DNS_PORT = 53

Algorithm = Literal["hmac-sha256", "hmac-sha384", "hmac-sha512"]


class ZoneBinding(BaseModel):
    """Where names go: the primary server of a zone that takes dynamic updates, or a hosted zone of Route 53."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    zone: str = Field(description="as in kafka.example.com; names of specs in it are kept, others are a person's")
    kind: Literal["rfc2136", "route53"]
    ttl_s: int = Field(default=30, ge=1, le=LONGEST_TTL_S, description="how long clients may remember an address")
    server: str = Field(default="", description="rfc2136: address of the zone's primary server")
    port: int = Field(default=53, ge=1, le=65535)
    secondaries: tuple[str, ...] = Field(
        default=(), description="rfc2136: the zone's other servers; a failover waits until each tells the new address"
    )
    key_name: str = Field(default="", description="rfc2136: name of the TSIG key")
    key_algorithm: Algorithm = "hmac-sha256"
    key_file: Path | None = Field(default=None, description="rfc2136: file with the key's secret, base64, only yours")
    hosted_zone_id: str = Field(default="", description="route53: id of the hosted zone")
    profile: str | None = Field(default=None, description="route53: profile of your AWS configuration")
    endpoint_url: str | None = Field(default=None, description="route53: a stand-in for AWS")

    @field_validator("zone")
    @classmethod
    def _plain_zone(cls, zone: str) -> str:
        zone = zone.lower().rstrip(".")
        if not _NAME.fullmatch(zone):
            raise ValueError(f"{zone!r} is not a zone, as in kafka.example.com")
        return zone

    @field_validator("secondaries")
    @classmethod
    def _places_to_ask(cls, secondaries: tuple[str, ...]) -> tuple[str, ...]:
        """As `10.0.0.54` or `10.0.0.54:5353`: addresses, since names are what such a server is asked for."""
        read = [HostPort.parse(text, _DNS_PORT) for text in secondaries]
        for at in read:
            ip_address(at.host)
        return tuple(str(at) for at in read)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> "ZoneBinding":
        needed = ("server", "key_name", "key_file") if self.kind == "rfc2136" else ("hosted_zone_id",)
        missing = [name for name in needed if not getattr(self, name)]
        if missing:
            raise ValueError(f"the zone {self.zone} is of kind {self.kind} and lacks {', '.join(missing)}")
        if self.secondaries and self.kind != "rfc2136":
            raise ValueError(f"the zone {self.zone} is of kind {self.kind}: its servers are the vendor's, list none")
        return self

    @property
    def others(self) -> tuple[HostPort, ...]:
        """The secondaries, read."""
        return tuple(HostPort.parse(text, _DNS_PORT) for text in self.secondaries)


def zone_of(binding: ZoneBinding) -> DnsZone:
    """The zone itself. Raises `AuthFailed` when its key cannot be read or others can read it."""
    if binding.kind == "rfc2136":
        key = TsigKey(binding.key_name, binding.key_algorithm, _secret(binding))
        return UpdatedZone(binding.zone, binding.server, binding.port, key, binding.others)
    from providers.dns.route53 import HostedZone  # boto3 only where it is asked for

    return HostedZone(binding.zone, binding.hosted_zone_id, binding.profile, binding.endpoint_url)


def _secret(binding: ZoneBinding) -> SecretStr:
    path = binding.key_file or Path()
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise AuthFailed(f"zone {binding.zone}: {path} can be read by others: chmod 600 it")
        return secret(path.read_text().strip())
    except OSError as error:
        raise AuthFailed(f"zone {binding.zone}: the key file cannot be read: {error}") from error
