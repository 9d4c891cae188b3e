"""What a relay's own Unix user must not have, looked at before it writes anything.

A relay never learns where the loop's home is: its role reads no such table. It looks at what it can: who it is, what is
in its own home, and whose servers run here.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from controlplane.server.split.forbidden_access import NOT_A_PORTALS

_NOT_A_RELAYS = (*NOT_A_PORTALS, "portal-key", "token", "terraform", "local")
_APART = (
    "Start it as a user of its own, with a home that holds its kedge.toml alone (docs/operating.md, The relay apart)"
)


class RelayRefused(Exception):
    """A relay would be able to do more than a relay should, or cannot be one. What now: give up; a person mends what
    the message says.
    """


@dataclass(frozen=True, slots=True)
class Running:
    """A process of this machine: the id of its real user, its words, and of its variables what this one may read."""

    pid: int
    user: int
    words: Sequence[str]
    environ: Mapping[str, str]

    @property
    def is_server(self) -> bool:
        """Whether it is `kedge server`, all of it or a part that is no relay."""
        if "server" not in self.words or not any(_is_kedge(word) for word in self.words):
            return False
        only = [after for word, after in zip(self.words, self.words[1:], strict=False) if word == "--only"]
        only += [word.removeprefix("--only=") for word in self.words if word.startswith("--only=")]
        part = self.environ.get("KEDGE_PROCESS__ONLY", self.environ.get("KEDGE_ONLY", ""))
        return (only or [part])[-1] != "relay"


def running() -> Iterator[Running]:
    """Every process of this machine."""
    for process in psutil.process_iter():
        try:
            yield Running(process.pid, process.uids().real, process.cmdline(), _environ(process))
        except psutil.Error:  # it ended, or is another user's
            continue


def check_relay_reach(
    home: Path, *, user: int | None = None, processes: Callable[[], Iterator[Running]] = running
) -> None:
    """Raises RelayRefused where this process is root, in the home of another part, or of a user with servers here."""
    user = os.geteuid() if user is None else user
    if user == 0:
        raise RelayRefused(
            "this process runs as root, who reads everything: a hole in the relay, or in what it speaks to brokers "
            f"with, would be a hole in all of Kedge. {_APART}. Where one user is enough, a server with [audit_topic] "
            "writes the topic itself"
        )
    own = [name for name in _NOT_A_RELAYS if (home / name).exists()]
    if own:
        raise RelayRefused(f"{home} is the home of a server: it has {', '.join(own)}. {_APART}")
    beside = [str(one.pid) for one in processes() if one.user == user and one.pid != os.getpid() and one.is_server]
    if beside:
        raise RelayRefused(
            f"this process runs as user {user}, and so does a server on this machine (process {', '.join(beside)}): "
            f"what that one reads the relay reads. {_APART}"
        )


def _is_kedge(word: str) -> bool:
    return word == "controlplane.cli" or Path(word).name == "kedge"


def _environ(process: psutil.Process) -> Mapping[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}
