"""The forge behind a repository, `forge` of a git binding: where commit statuses go and pull requests are opened."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from controlplane.background.git_sync.tokens import require_reference
from controlplane.runtime.loopback import is_loopback

_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?", re.ASCII)
_SCP = re.compile(r"[^@/]+@([^:/]+):(.+)")

GITHUB, GITLAB = "github", "gitlab"


@dataclass(frozen=True, slots=True)
class ForgeAddress:
    """`api` is what its calls begin with, `project` the repository's path there."""

    api: str
    project: str


class ForgeBinding(BaseModel):
    """Which program it is, and the token of the bot. Address and project follow from the repository's, or are named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["github", "gitlab"]
    url: str = Field(default="", description="what its API begins with; empty: as the repository's host has it")
    project: str = Field(default="", description="OWNER/REPOSITORY there; empty: the repository's path")
    token_env: str = Field(default="", description="name of the server's variable that holds the bot's token")
    token_file: Path | None = Field(default=None, description="file that holds the bot's token")
    statuses: bool = Field(default=True, description="post a status and a comment to each commit that is looked at")
    email_domain: str = Field(
        default="", description="authors of pull requests are NAME@DOMAIN; empty: an address nobody receives"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "ForgeBinding":
        require_reference(self.token_env, self.token_file)
        if not self.token_env and self.token_file is None:
            raise ValueError("a forge needs token_env or token_file: the token of a bot that may write there")
        if self.url:
            _require_safe(self.url)
        if self.project:
            _require_project(self.kind, self.project)
        if self.email_domain and not _DOMAIN.fullmatch(self.email_domain):
            raise ValueError(f"email_domain {self.email_domain!r} is not a domain, as in example.com")
        return self

    def require_address(self, repository: str) -> ForgeAddress:
        """Where the repository is on its forge. Raises ValueError where that cannot be told from its address."""
        host, path = _host_and_path(repository)
        if not self.url and not host:
            raise ValueError("the repository's address names no forge: give `url` and `project` of the forge")
        project = self.project or path.strip("/").removesuffix(".git")
        _require_project(self.kind, project)
        return ForgeAddress((self.url or _api_of(self.kind, host)).rstrip("/"), project)


def _api_of(kind: str, host: str) -> str:
    """GitHub's own has a host of its own, its Enterprise server a folder; GitLab always has a folder."""
    if kind == GITLAB:
        return f"https://{host}/api/v4"
    return "https://api.github.com" if host == "github.com" else f"https://{host}/api/v3"


def _host_and_path(repository: str) -> tuple[str, str]:
    """Without a port: that of ssh is not the API's. Of a plain http or odd https address the `url` is to be named."""
    scp = _SCP.fullmatch(repository)
    if scp is not None and "//" not in repository:
        return scp[1], scp[2]
    url = urlsplit(repository)
    if url.scheme == "ssh":
        return url.hostname or "", url.path
    return (url.netloc, url.path) if url.scheme == "https" else ("", url.path if url.scheme else "")


def _require_project(kind: str, project: str) -> None:
    steps = project.split("/")
    if not all(_STEP.fullmatch(step) for step in steps) or len(steps) < 2 or (kind == GITHUB and len(steps) != 2):
        raise ValueError(f"{project!r} is not a repository of a forge, as in `platform/specs`: name it in `project`")


def _require_safe(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or "@" in url:
        raise ValueError(f"{url.partition('?')[0].rpartition('@')[2]!r} is not an address of an API: https://HOST/PATH")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("plain http is spoken on loopback addresses only: use https")
