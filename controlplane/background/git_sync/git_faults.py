"""What git says when it cannot read a repository, as a reason and what to do about that very reason.

Git tells in words: each line of the table is a cause that git's words name. What none of them names is `Unreachable`,
with advice that holds for anything.
"""

import os
import pwd
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.child import GitAnswer, refusal
from controlplane.background.git_sync.faults import SourceFault

_AGAIN = "It is tried again; clusters stay as they are."
_BY_SSH = re.compile(r"Host key verification failed|: Permission denied \(")
_QUOTED = re.compile(r"'[^']*'")
_OWNED = re.compile(r"dubious ownership in repository at '(?P<folder>[^']+)'")


@dataclass(frozen=True, slots=True)
class _Cause:
    """`signs`: any of them in git's words means it. `only`: of these transports alone, of all where it is empty."""

    reason: str
    signs: tuple[str, ...]
    then: Callable[[GitBinding, str], str]
    only: tuple[str, ...] = ()

    def matches(self, binding: GitBinding, said: str) -> bool:
        own_words = _QUOTED.sub("''", said)  # an address or a name may hold any word
        return (not self.only or binding.transport in self.only) and any(sign in own_words for sign in self.signs)


def fault_of(answer: GitAnswer, binding: GitBinding, secrets: Sequence[str]) -> SourceFault:
    """What keeps the repository from being read. Of a refusal by ssh, git only says that it could not read; of the
    owner of a folder it speaks before."""
    lines = [line for line in answer.errors.splitlines() if not line.startswith("remote:")]
    first = next((line for line in lines if _BY_SSH.search(line) or _OWNED.search(line)), None)
    said = refusal(answer if first is None else replace(answer, errors=first), secrets=secrets)
    cause = next((cause for cause in _CAUSES if cause.matches(binding, said)), _ANYTHING)
    return SourceFault(cause.reason, f"git: {said}", f"{cause.then(binding, said)} {_AGAIN}")


def _always(text: str) -> Callable[[GitBinding, str], str]:
    return lambda binding, said: text


def _whose(binding: GitBinding, said: str) -> str:
    """Git reads a repository of another user only where its own configuration names it, and Kedge's git reads none:
    whose repository it is may decide what programs git runs there."""
    found = _OWNED.search(said)
    folder = Path(found["folder"] if found else binding.repository)
    mine = _user(os.geteuid())
    try:
        owner = f"belongs to {_user(folder.stat().st_uid)}"
    except OSError as error:
        owner = f"has an owner nobody tells ({error.strerror})"
    return (
        f"The folder {owner}, the server runs as {mine}: give it to that user (`chown -R {mine} {folder}`), or bind a "
        "path that is the server's. A `safe.directory` of git has no effect: the server's git reads no configuration "
        "of this machine."
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)  # as in a container: a number without a name


def _credential(binding: GitBinding, said: str) -> str:
    if binding.transport == "ssh":
        return f"Is the key of {binding.ssh_key_file} known to the host, with the right to read the repository?"
    named = binding.token_env or binding.token_file
    if not named:
        return "The binding names no credential: set `token_env` or `token_file`, of somebody who may read it."
    return f"Renew the credential in {named}, or give it the right to read the repository."


def _host_key(binding: GitBinding, said: str) -> str:
    return (
        f"Ask whoever runs the host whether its key has changed; only then put the new one into "
        f"{binding.known_hosts_file}."
    )


def _not_there(binding: GitBinding, said: str) -> str:
    if binding.transport == "file":
        mine = _user(os.geteuid())
        return f"Is {binding.repository} a repository, and may the server's user ({mine}) read every file of it?"
    return (
        "Correct the `repository` of the binding. Forges answer so, too, where the credential may not read it, or "
        "there is none."
    )


_CAUSES = (
    _Cause("Refused", ("dubious ownership",), _whose),
    _Cause("HostKeyRefused", ("Host key verification failed",), _host_key),
    _Cause(
        "AuthenticationFailed",
        ("Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403"),
        _credential,
    ),
    _Cause("AuthenticationFailed", ("Permission denied (",), _credential, only=("ssh",)),
    _Cause("Refused", ("transport '",), _always("Its address leads to another one, which no binding allows.")),
    _Cause(
        "Unreachable",
        ("No space left on device", "unable to write", "Disk quota exceeded"),
        _always("The disk of the server's home is full: make room there."),
    ),
    _Cause(
        "Refused",
        ("unsafe", "fsck", "error: object ", "bad tree", "bad object"),
        _always(
            "An object of the repository is malformed: `git fsck` in a clone of it names it; push a history without."
        ),
    ),
    _Cause("Refused", ("not allowed",), _always("The host forbids it: git's words say what.")),
    _Cause(
        "Unreachable",
        ("not found", "Repository not found", "does not appear to be a git repository", "does not exist", "error: 404"),
        _not_there,
    ),
    _Cause("Unreachable", ("Permission denied",), _not_there, only=("file",)),
    _Cause(
        "Unreachable",
        ("certificate",),
        _always(
            "The server does not trust the host's certificate: name the file of its CA in SSL_CERT_FILE of the "
            "server's environment, or renew the certificate."
        ),
        only=("https",),
    ),
    _Cause(
        "Unreachable", ("error: 407", "Proxy", "proxy"), _always("The proxy of the server's environment refuses it.")
    ),
    _Cause(
        "Unreachable",
        ("redirect", "error: 301", "error: 302", "error: 307", "error: 308"),
        _always("The address leads elsewhere, and no redirect is followed: write the new address into the binding."),
        only=("https", "http"),
    ),
    _Cause(
        "Unreachable",
        ("error: 429", "error: 500", "error: 502", "error: 503", "error: 504"),
        _always("The host is busy or in trouble, and the binding is not at fault."),
    ),
    _Cause(
        "Unreachable",
        ("Connection refused", "Failed to connect", "Couldn't connect", "timed out", "No route to host", "unreachable"),
        _always("Nobody answers at that address: is the host up, and is the way from the server to it open?"),
    ),
)
"""The first that is told counts."""

_ANYTHING = _Cause("Unreachable", (), _always("Look at the address and the credentials of the binding."))

REASONS = frozenset(cause.reason for cause in (*_CAUSES, _ANYTHING))
