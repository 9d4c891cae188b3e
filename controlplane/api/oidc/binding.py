"""`[oidc]` of the settings: which provider lets people in, and what it is believed."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from controlplane.runtime.loopback import is_loopback
from events.secrets import secret

_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


class OidcRefused(ValueError):
    """The client secret is not where the settings say. What now: give up; a person puts it there."""


class OidcBinding(BaseModel):
    """One provider. The client secret is named, never written here: an environment variable or a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str = Field(description="as its discovery document says, without `/.well-known/...`; https off loopback")
    client_id: str = Field(min_length=1, max_length=200, description="this server, as registered there")
    client_secret_env: str = Field(default="", description="variable the secret is in")
    client_secret_file: Path | None = Field(default=None, description="file the secret is in, readable by its owner")
    label: str = Field(default="", max_length=60, description="what the button on the login page says; empty: its host")
    scopes: tuple[str, ...] = Field(default=("openid", "profile", "email"), description="what is asked for")
    name_claim: str = Field(default="email", description="what people are called here; an email has to be verified")
    groups_claim: str = Field(default="groups", description="where the groups are that bindings name, `group:NAME`")
    allowed_email_domains: tuple[str, ...] = Field(default=(), description="others are refused; empty: all")
    session_s: float = Field(
        default=3600.0, ge=60, le=86_400, description="after that they sign in again, and groups are read anew"
    )
    token_trust_s: float = Field(
        default=7 * 86_400.0, ge=60, le=90 * 86_400, description="API tokens work so long after the last sign-in"
    )
    leeway_s: int = Field(default=60, ge=0, le=300, description="how far the two clocks may be apart")
    ca_file: Path | None = Field(default=None, description="certificates to believe instead of the system's")

    @field_validator("issuer")
    @classmethod
    def _a_safe_issuer(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{issuer!r} is not an address of a provider: write it as in https://id.example.com")
        if not is_safe(issuer):
            raise ValueError(f"{issuer} is plain HTTP over a network: a provider off this machine speaks https")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _asks_for_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise ValueError("scopes lack `openid`: without it a provider vouches for nobody")
        return scopes

    @field_validator("allowed_email_domains")
    @classmethod
    def _are_domains(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        for domain in domains:
            if not _DOMAIN.fullmatch(domain.lower()):
                raise ValueError(f"{domain!r} is not a domain: write it as in example.com")
        return tuple(domain.lower() for domain in domains)

    @model_validator(mode="after")
    def _one_secret(self) -> "OidcBinding":
        if self.client_secret_env and self.client_secret_file:
            raise ValueError("client_secret_env and client_secret_file are both set: which one holds it?")
        return self

    def client_secret(self) -> SecretStr:
        """The secret, read anew each time, so that it may be rotated; empty for a public client. Raises OidcRefused."""
        if self.client_secret_env:
            found = os.environ.get(self.client_secret_env, "")
            if not found:
                raise OidcRefused(f"the variable {self.client_secret_env} is to hold the client secret, and is empty")
            return secret(found)
        if self.client_secret_file is None:
            return SecretStr("")
        try:
            if self.client_secret_file.stat().st_mode & 0o077:
                raise OidcRefused(f"{self.client_secret_file} is readable by others: chmod 600 it")
            found = self.client_secret_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise OidcRefused(f"the client secret in {self.client_secret_file} cannot be read: {error}") from error
        if not found:
            raise OidcRefused(f"{self.client_secret_file} is to hold the client secret, and is empty")
        return secret(found)

    @property
    def button(self) -> str:
        """What people call the provider."""
        return self.label or urlsplit(self.issuer).hostname or self.issuer


def is_safe(url: str) -> bool:
    """Whether a secret may be sent there: https, or plain HTTP on loopback."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
