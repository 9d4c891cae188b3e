"""Where the server is and how to prove who we are: by a token of ours, else by that of a home on this machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from controlplane.cli.errors import CliError, Unreachable
from controlplane.cli.token_store import token_for
from controlplane.runtime.loopback import is_loopback
from events.secrets import secret

HOME_VARIABLE = "KEDGE_HOME"
SERVER_VARIABLE = "KEDGE_SERVER"
DEFAULT_HOME = ".kedge"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One server. `source` says where its URL was found, for messages."""

    url: str
    token: SecretStr
    source: str

    @property
    def is_local(self) -> bool:
        return is_loopback(urlsplit(self.url).hostname or "")


def home_of(environ: Mapping[str, str], cwd: Path) -> Path:
    """The directory a server of this place keeps its files in: KEDGE_HOME, else `.kedge` here."""
    chosen = environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else cwd / DEFAULT_HOME


def names_server(environ: Mapping[str, str]) -> bool:
    """Whether whoever calls chose a server: what works without one asks that one then."""
    return bool(environ.get(SERVER_VARIABLE))


def locate(environ: Mapping[str, str], cwd: Path) -> ServerAddress:
    """The server to talk to. Read anew for each request, because a restarted server may have another port.

    Raises Unreachable when none is known here, CliError when the token must not be sent there or cannot be read.
    """
    url, source = server_url(environ, cwd)
    token = token_for(environ, url)
    if not token and not is_loopback(urlsplit(url).hostname or ""):
        why = "the token of a server's home opens it on its own machine only"
        then = f"`kedge login --server {url}` keeps one of yours; KEDGE_TOKEN_FILE names a file with one"
        raise CliError(f"there is no token for {url}", where=source, why=why, next_step=then)
    return ServerAddress(url, secret(token or _token_in(home_of(environ, cwd) / "token")), source)


def server_url(environ: Mapping[str, str], cwd: Path) -> tuple[str, str]:
    """The address of the server, and where it was found. Raises as `locate` does."""
    home = home_of(environ, cwd)
    chosen = environ.get(SERVER_VARIABLE, "")
    url, source = (chosen, SERVER_VARIABLE) if chosen else (_url_in(home / "server.json"), str(home / "server.json"))
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        fix = "give it as http://127.0.0.1:PORT or https://HOST"
        raise CliError(f"`{url}` is not the address of a server", where=source, next_step=fix)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        why = "the token would cross the network in plain text"
        raise CliError(f"{url} is refused", where=source, why=why, next_step="use https, or a tunnel to loopback")
    return url.rstrip("/"), source


def _url_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["url"])
    except FileNotFoundError:
        raise Unreachable(
            "no server is known here",
            where=str(path),
            why="the file is not there: no server was started in this directory",
            next_step=f"`kedge server` starts one; for another one set {HOME_VARIABLE} or {SERVER_VARIABLE}",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError("cannot read the address of the server", where=str(path), why=_reason(error)) from None


def _token_in(path: Path) -> str:
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise CliError(
            "cannot read the token",
            where=str(path),
            why=_reason(error),
            next_step=f"run this as the user who started `kedge server`, or point {HOME_VARIABLE} at its home",
        ) from None
    if not token or not token.isprintable():
        raise CliError("the token file holds no token", where=str(path), next_step="restart `kedge server`")
    return token


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"it does not hold what it should ({type(error).__name__})"
