"""A git binding: which branch and folder declare clusters, with which rights. One `[[git]]` of the settings."""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from controlplane.background.git_sync.forge_binding import ForgeBinding
from controlplane.background.git_sync.tokens import require_reference
from controlplane.runtime.loopback import is_loopback

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_REF_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*", re.ASCII)
_FOLDER_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +-]*", re.ASCII)
_SCP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s-][^:\s]*", re.ASCII)
_ACCOUNT = re.compile(r"[a-z][a-z0-9-]*/[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9.:\]-]*", re.ASCII)

Transport = Literal["ssh", "https", "http", "file"]
SSH_PORT = 22
Verb = Literal["create", "change"]


class GitBinding(BaseModel):
    """Where specs come from, and what a commit there may do: it acts with these rights, never with its author's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="its clusters' source is `git:NAME`")
    repository: str = Field(description="https://..., ssh://... or user@host:path, or a path under `allow.git_paths`")
    branch: str = "main"
    path: str = Field(default="", description="folder of the specs; empty: the whole repository")
    team: str = Field(default="", description="`metadata.owner` every spec must have; empty: any")
    accounts: tuple[str, ...] = Field(
        default=(), description="`CLOUD/ACCOUNT` its clusters' pools may lie in, as in `aws/payments`; empty: any"
    )
    verbs: tuple[Verb, ...] = Field(default=("create", "change"), description="what its commits may do")
    poll_s: float = Field(default=60.0, ge=0.1, le=86_400, description="seconds between two looks")
    username: str = Field(default="git", description="goes with a token over https")
    token_env: str = Field(default="", description="name of the server's variable that holds the token")
    token_file: Path | None = Field(default=None, description="file that holds the token")
    ssh_key_file: Path | None = Field(default=None, description="private key, with ssh")
    known_hosts_file: Path | None = Field(
        default=None, description="the host's key, with ssh: nothing is trusted unseen"
    )
    signers_file: Path | None = Field(
        default=None,
        description="SSH keys of authors, as `ssh-keygen` lists ALLOWED SIGNERS",
    )
    pgp_keys_file: Path | None = Field(
        default=None,
        description="public OpenPGP keys of authors, as `gpg --export` writes them; without a list all are claimed",
    )

    webhook_secret_env: str = Field(
        default="", description="name of the server's variable that holds the secret of the forge's webhook"
    )
    webhook_secret_file: Path | None = Field(default=None, description="file that holds it")
    forge: ForgeBinding | None = Field(
        default=None, description="the GitHub or GitLab behind the repository: commit statuses and pull requests"
    )

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name: lower-case letters, digits and dashes")
        return name

    @field_validator("branch")
    @classmethod
    def _plain_branch(cls, branch: str) -> str:
        steps = branch.split("/")
        is_plain = all(_REF_STEP.fullmatch(step) and ".." not in step for step in steps)
        if not is_plain or any(step.endswith((".lock", ".")) for step in steps):
            raise ValueError(f"{branch!r} is not a plain name of a branch, as in `main` or `release/kafka`")
        return branch

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        path = path.strip("/") if path != "." else ""
        if path and not all(_FOLDER_STEP.fullmatch(step) for step in path.split("/")):
            raise ValueError(f"{path!r} is not a folder of a repository, as in `clusters/production`")
        return path

    @field_validator("repository")
    @classmethod
    def _known_form(cls, repository: str) -> str:
        transport_of(repository)
        return repository

    @field_validator("accounts")
    @classmethod
    def _known_accounts(cls, accounts: tuple[str, ...]) -> tuple[str, ...]:
        for account in accounts:
            if not _ACCOUNT.fullmatch(account):
                raise ValueError(
                    f"{account!r} is not an account: CLOUD/ACCOUNT, as in `aws/payments` or `local/default`"
                )
        return accounts

    @field_validator("username")
    @classmethod
    def _plain_user(cls, username: str) -> str:
        if not username or ":" in username or not username.isprintable():
            raise ValueError(f"{username!r} is not a user name")
        return username

    @model_validator(mode="after")
    def _credentials_fit(self) -> "GitBinding":
        has_token = bool(self.token_env or self.token_file)
        has_key = bool(self.ssh_key_file or self.known_hosts_file)
        require_reference(self.token_env, self.token_file)
        require_reference(self.webhook_secret_env, self.webhook_secret_file, key="webhook_secret")
        if has_token and self.transport not in ("https", "http"):
            raise ValueError("a token goes with https alone")
        if has_key and self.transport != "ssh":
            raise ValueError("ssh_key_file and known_hosts_file go with ssh alone")
        if self.transport == "ssh" and not (self.ssh_key_file and self.known_hosts_file):
            raise ValueError("ssh needs ssh_key_file, and known_hosts_file with the host's key: ssh-keyscan shows it")
        if self.forge is not None:
            self.forge.require_address(self.repository)
        if not self.verbs:
            raise ValueError("verbs is empty: nothing could ever be declared")
        for file in (self.ssh_key_file, self.known_hosts_file, self.signers_file, self.pgp_keys_file):
            if file is not None and not file.is_absolute():
                raise ValueError(f"{file} must be an absolute path")
        return self

    @property
    def transport(self) -> Transport:
        return transport_of(self.repository)


def transport_of(repository: str) -> Transport:
    """How a repository is reached. Raises ValueError for every other form, and for a secret in a URL."""
    if repository.startswith("/"):
        if not repository.isprintable():
            raise ValueError("the path of the repository holds unprintable characters")
        return "file"
    if _SCP.fullmatch(repository):
        return "ssh"
    url = urlsplit(repository)
    if url.scheme not in ("https", "ssh", "http") or not _HOST.fullmatch(url.hostname or "") or url.path in ("", "/"):
        raise ValueError(
            f"{_shown(repository)!r} is not a repository: https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or "
            "an absolute path"
        )
    if url.password is not None or (url.username is not None and url.scheme != "ssh"):
        raise ValueError("no user, password or token in the URL: use token_env or token_file")
    if url.query or url.fragment or any(c.isspace() or not c.isprintable() for c in repository):
        raise ValueError(f"{_shown(repository)!r}: a repository's URL ends with its path")
    if url.scheme == "http" and not is_loopback(url.hostname or ""):
        raise ValueError("plain http is spoken on loopback addresses only: use https")
    return url.scheme  # type: ignore[return-value]  # one of the three


def ssh_host(repository: str) -> tuple[str, int]:
    """Host and port of a repository that is reached by ssh."""
    if _SCP.fullmatch(repository):
        return repository.partition("@")[2].partition(":")[0], SSH_PORT
    url = urlsplit(repository)
    return url.hostname or "", url.port or SSH_PORT


def is_under(repository: str, allowed: tuple[Path, ...]) -> bool:
    """Whether a local repository, symbolic links followed, lies in a folder the operator listed."""
    real = Path(repository).resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in allowed)


def _shown(repository: str) -> str:
    """Without what may be a secret."""
    return re.sub(r"//[^/@]*@", "//***@", repository)
