"""The environment git runs in: nothing of this machine's configuration, one protocol, credentials read at each use."""

import base64
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.gitsync.binding import GitBinding
from controlplane.gitsync.faults import SourceFault
from controlplane.gitsync.tokens import kept_token

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
    """What must not be shown, and the variables that carry it to git: never an argument, others could read those."""

    values: tuple[str, ...]
    variables: Mapping[str, str]


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


def fetch_environment(binding: GitBinding, home: Path) -> tuple[dict[str, str], Secrets]:
    """For commands that ask the repository: its one protocol, with its credentials. Raises SourceFault."""
    secrets = _secrets(binding)
    environ = {**base_environment(home), **secrets.variables, "GIT_ALLOW_PROTOCOL": binding.transport}
    if binding.transport == "ssh":
        environ["GIT_SSH_COMMAND"] = _ssh(binding)
        environ["GIT_SSH_VARIANT"] = "ssh"
    return environ, secrets


def _ssh(binding: GitBinding) -> str:
    """Git hands this to a shell: every word is quoted. The host's key must be known, nobody is asked anything."""
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
    )
    words = ["ssh", "-F", "/dev/null", "-i", str(binding.ssh_key_file)]
    return shlex.join([*words, *(part for option in options for part in ("-o", option))])


def _secrets(binding: GitBinding) -> Secrets:
    token = kept_token(binding.token_env, binding.token_file)
    if not token:
        return Secrets((), {})
    url = urlsplit(binding.repository)
    pair = base64.b64encode(f"{binding.username}:{token}".encode()).decode()
    variables = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{url.scheme}://{url.netloc}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
    }
    return Secrets((token, pair), variables)
