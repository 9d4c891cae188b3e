"""A HashiCorp Vault that passwords of users are written to, as the settings name it.

[kafka.password_sinks.apps]
vault = "https://vault.example.com:8200"
mount = "secret"                            # a KV engine of version 2
path = "kafka"                              # CLUSTER/USER below it
token_file = "/etc/kedge/vault-token"       # or token_env; read at each use
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from controlplane.background.git_sync.tokens import require_reference
from controlplane.runtime.loopback import is_loopback

_STEPS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*", re.ASCII)


class VaultBinding(BaseModel):
    """Frozen; a key it does not know is refused. The token is named, and never stands in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vault: str = Field(description="https://HOST:PORT; http on loopback alone")
    mount: str = Field(default="secret", description="where the KV engine, version 2, is mounted")
    path: str = Field(default="kedge", description="what secrets are below: PATH/CLUSTER/USER; empty: CLUSTER/USER")
    namespace: str = Field(default="", description="as in team-a/kafka; empty: that of the token")
    token_file: Path | None = Field(default=None, description="file with the token (0600), read at each use")
    token_env: str = Field(default="", description="name of the server's variable that holds the token")
    ca_file: Path | None = Field(default=None, description="PEM of the CAs it is believed by; none: the machine's")

    @model_validator(mode="after")
    def _makes_sense(self) -> "VaultBinding":
        parts = urlsplit(self.vault)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("`vault` is an address without a path, as in https://vault.example.com:8200")
        if parts.username or parts.password:
            raise ValueError("`vault` is an address without a user: the token stands in token_file")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ValueError("`vault` is plain HTTP off loopback: passwords would be readable; write https")
        for name, text in (("mount", self.mount), ("path", self.path), ("namespace", self.namespace)):
            if (text or name == "mount") and not _STEPS.fullmatch(text.removesuffix("/")):
                raise ValueError(f"`{name}` is letters, digits, `.`, `_`, `-` between slashes, as in team-a/kafka")
        require_reference(self.token_env, self.token_file)
        if not self.token_env and self.token_file is None:
            raise ValueError("a Vault needs token_file or token_env: where the token stands, never the token itself")
        if self.ca_file is not None and not self.ca_file.is_absolute():
            raise ValueError(f"{self.ca_file} must be an absolute path")
        return self

    @property
    def host(self) -> str:
        """Whom the settings name to be called."""
        return urlsplit(self.vault).hostname or ""

    def secret_path(self, cluster: str, user: str) -> str:
        """Below the engine's `data/`."""
        return "/".join((*filter(None, self.path.strip("/").split("/")), cluster, user))
