"""The environment git runs in: nothing of this machine's configuration, one protocol, credentials read at each use."""

import base64
import os
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agent.host_port import HostPort, bracketed, plain_host
from controlplane.background.git_sync.binding import SSH_PORT, GitBinding, ssh_host
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.tokens import kept_token
from controlplane.runtime.egress import Egress, EgressRefused, proxy_for
from events.secrets import remember

_ANSWERS_WITHIN_S = 3.0
_PASSED_ON = ("PATH", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")

CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "http.followRedirects=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=20",
)
"""What git is told with every command. Objects are checked as they arrive; a redirect is an error."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not be shown, and the settings that carry it to git: by variables, others could read an argument."""

    values: tuple[str, ...] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)


def base_environment(home: Path) -> dict[str, str]:
    """For commands on the clone alone: no protocol at all is allowed."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **passed_on,
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def fetch_environment(binding: GitBinding, home: Path, egress: Egress) -> tuple[dict[str, str], Secrets]:
    """For commands that ask the repository: its one protocol, with its credentials. Raises SourceFault."""
    secrets = _secrets(binding)
    values = {**secrets.settings, **_pinned(binding, egress)}
    environ = {**base_environment(home), **_as_variables(values), "GIT_ALLOW_PROTOCOL": binding.transport}
    if binding.transport == "ssh":
        environ["GIT_SSH_COMMAND"] = _ssh(binding, egress)
        environ["GIT_SSH_VARIANT"] = "ssh"
    return environ, secrets


def _ssh(binding: GitBinding, egress: Egress) -> str:
    """Git hands this to a shell: every word is quoted. The host's key must be known, nobody is asked anything; ssh is
    told the address that was judged, and by which name the key of the host is known. Raises SourceFault.
    """
    for file, what in ((binding.ssh_key_file, "ssh_key_file"), (binding.known_hosts_file, "known_hosts_file")):
        if file is None or not file.is_file():
            message = f"{what} {file} is not there"
            raise SourceFault("CredentialMissing", message, f"Put it there, or change `{what}` of the binding.")
    options = (
        "IdentitiesOnly=yes",
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f'UserKnownHostsFile="{binding.known_hosts_file}"',
        "GlobalKnownHostsFile=/dev/null",
        "ForwardAgent=no",
        "ConnectTimeout=10",
        *_pinned_ssh(binding, egress),
    )
    words = ["ssh", "-F", "/dev/null", "-i", str(binding.ssh_key_file)]
    return shlex.join([*words, *(part for option in options for part in ("-o", option))])


def _secrets(binding: GitBinding) -> Secrets:
    token = kept_token(binding.token_env, binding.token_file).get_secret_value()
    if not token:
        return Secrets((), {})
    url = urlsplit(binding.repository)
    pair = base64.b64encode(f"{binding.username}:{token}".encode()).decode()
    remember(pair)
    header = f"http.{url.scheme}://{url.netloc}/.extraHeader"
    return Secrets((token, pair), {header: f"Authorization: Basic {pair}"})


def _pinned(binding: GitBinding, egress: Egress) -> dict[str, str]:
    """Over http git is told the address that was judged, so that it looks up no other (git 2.37).

    Raises SourceFault.
    """
    if binding.transport not in ("https", "http"):
        return {}
    url = urlsplit(binding.repository)
    host, port = url.hostname or "", url.port or {"https": 443, "http": 80}[url.scheme]
    if proxy_for(url.scheme, host):
        with _as_source_fault(host):
            egress.judge_unresolved(host, named=True)
        return {}
    addresses = _judged(host, port, egress)
    if [*map(plain_host, addresses)] == [plain_host(host)]:  # an address itself: there is nothing to look up
        return {}
    return {"http.curloptResolve": f"{HostPort(host, port)}:{','.join(map(bracketed, addresses))}"}


def _pinned_ssh(binding: GitBinding, egress: Egress) -> tuple[str, ...]:
    """The same for ssh, which knows no proxy of the environment: options by which it looks up nothing itself."""
    host, port = ssh_host(binding.repository)
    address, *more = _judged(host, port, egress)
    if more:
        address = next((one for one in (address, *more) if _answers(one, port)), address)
    known_as = host if port == SSH_PORT else f"[{host}]:{port}"
    return () if plain_host(address) == plain_host(host) else (f"HostName={address}", f"HostKeyAlias={known_as}")


def _judged(host: str, port: int, egress: Egress) -> tuple[str, ...]:
    with _as_source_fault(host):
        return egress.addresses(host, port, named=True)


@contextmanager
def _as_source_fault(host: str) -> Iterator[None]:
    try:
        yield
    except EgressRefused as refused:
        raise SourceFault(
            "NotAllowed", str(refused), "Look at the address of the binding, and at `allow.calls`."
        ) from None
    except OSError as error:
        raise SourceFault("Unreachable", f"{host} has no address: {error}", "It is tried again.") from None


def _answers(address: str, port: int) -> bool:
    """Whether somebody listens there: ssh is told one address, and of two one may have no way."""
    try:
        socket.create_connection((address, port), _ANSWERS_WITHIN_S).close()
    except OSError:
        return False
    return True


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as git reads them from its environment."""
    names = {f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **names, **values}
