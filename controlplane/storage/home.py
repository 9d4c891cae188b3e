"""What an installation keeps on disk beside its database: its id, its keys, and where its server listens.

installation-id   minted once; tags of VMs carry it
home-id           minted once; the database remembers which home it belongs to
server-key        HMAC key of enrolment tokens (0600)
token             what people and the CLI show to the API (0600)
agent-url         the address VMs were told; frozen, because boot data must render the same for ever
agent-ca          SHA-256 of the CA they were told to believe; frozen with the address, and only where that is https
cluster-authorities.json  CAs of clusters a second time, keys sealed (`storage.certificates.authority_copy`)
ca.pem            that CA (`controlplane.storage.certificates.authority`); ca-key.pem is its key (0600)
server.json       where the server of this home listens now, for the CLI
leader.lock       held by the process that leads; its kernel lock proves that process alive
"""

import json
import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from pydantic import SecretBytes, SecretStr

from controlplane.runtime.atomic_file import replacing
from events.secrets import remember, secret


@dataclass(frozen=True, slots=True)
class Installation:
    """Who this installation is."""

    id: str
    server_key: SecretBytes
    token: SecretStr


@dataclass(frozen=True, slots=True)
class HomeIdentity:
    """Which home this is, and where it is now: a home may be moved, its id stays."""

    home_id: str
    installation_id: str
    host: str
    path: str

    @property
    def where(self) -> str:
        return f"{self.path} on {self.host}"


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A running server, as `server.json` says."""

    url: str
    pid: int

    @property
    def is_alive(self) -> bool:
        return psutil.pid_exists(self.pid)


@dataclass(frozen=True, slots=True)
class Home:
    """The home directory of an installation."""

    path: Path

    def installation(self) -> Installation:
        """Reads the id and the keys, minting what is missing. Safe for two servers that start together."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Installation(
            id=minted(self.path / "installation-id", lambda: secrets.token_hex(8)),
            server_key=_key(minted(self.path / "server-key", lambda: secrets.token_hex(32))),
            token=secret(minted(self.token_file, lambda: secrets.token_urlsafe(32))),
        )

    def identity(self) -> HomeIdentity:
        """Which home this is and where, minting its id if it has none."""
        installation = self.installation()
        return HomeIdentity(
            home_id=minted(self.path / "home-id", lambda: secrets.token_hex(8)),
            installation_id=installation.id,
            host=socket.gethostname(),
            path=str(self.path.resolve()),
        )

    def installation_id(self) -> str | None:
        """The id in the home, None when there is none: nothing is minted."""
        return kept(self.path / "installation-id")

    def server_key(self) -> SecretBytes | None:
        """The key in the home, None when there is none: nothing is minted."""
        text = kept(self.path / "server-key")
        return _key(text) if text else None

    def keep_installation_id(self, installation_id: str) -> str:
        """Puts an id into a home that has none; returns the one that is in force."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return minted(self.path / "installation-id", lambda: installation_id)

    @property
    def token_file(self) -> Path:
        return self.path / "token"

    def agent_url(self) -> str | None:
        """The address VMs of this installation were told, None before the first server."""
        return kept(self.path / "agent-url")

    def agent_ca(self) -> str | None:
        """SHA-256 (hex) of the CA that goes with an https address VMs were told."""
        return kept(self.path / "agent-ca")

    def keep_agent_url(self, url: str, *, ca_sha256: str = "") -> None:
        """Sets the address new VMs are told. Only while no VM lives that was told another one.

        `ca_sha256` goes with https. It is written first: what is read with the address is never that of another one.
        """
        if ca_sha256:
            _write(self.path / "agent-ca", f"{ca_sha256}\n")
        _write(self.path / "agent-url", f"{url}\n")

    def server(self) -> ServerRecord | None:
        """The server that was last seen listening, None when there was none or the file is unreadable."""
        try:
            record = json.loads((self.path / "server.json").read_text())
            return ServerRecord(str(record["url"]), int(record["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep_server(self, record: ServerRecord) -> None:
        """Says where the server listens."""
        _write(self.path / "server.json", json.dumps(asdict(record)) + "\n")

    def forget_server(self, record: ServerRecord) -> None:
        """Takes back what `keep_server` said, unless another server has spoken since."""
        if self.server() == record:
            (self.path / "server.json").unlink(missing_ok=True)

    @property
    def leader_lock(self) -> Path:
        return self.path / "leader.lock"


def kept(path: Path) -> str | None:
    """The text of a small file of a home, None when it is missing or empty."""
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None


def minted(path: Path, mint: Callable[[], str]) -> str:
    """The text of a file of a home that is written once, whole, 0600; whoever links it first wins."""
    with suppress(FileNotFoundError):
        os.chmod(path, 0o600)
        return path.read_text().strip()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{mint()}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
    return path.read_text().strip()


def _key(text: str) -> SecretBytes:
    remember(text)
    return SecretBytes(bytes.fromhex(text))


def _write(path: Path, text: str) -> None:
    with replacing(path) as fresh:
        fresh.write_text(text)
