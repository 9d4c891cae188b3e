"""Programs that build an image, run one after another."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Protocol

from controlplane.server.machine_images.refusal import ImageRefused

_LAST_LINES = 3

_MEANINGS = tuple(
    (re.compile(said), why, next_step)
    for said, why, next_step in (
        (
            r"No space left on device|Could not allocate block",
            "the disk is full, or the image too small for what it holds",
            "make room where `--out` and $TMPDIR lie (6 GiB), or give a larger `--size-gib`",
        ),
        (
            r"Unable to locate package (\S+)|Package '?([^' ]+)'? has no installation candidate",
            "the mirror has no package {0}",
            "give a whole mirror of Debian 12, main: `--mirror`",
        ),
        (
            r"(?:Could not resolve|Could not connect to|Unable to connect to|failure resolving) '?([^\s:')]+)",
            "Debian's mirror cannot be reached: {0}",
            "check the network and proxy (http_proxy), or name another mirror: `--mirror`",
        ),
        (
            r"Failed to fetch (\S+)",
            "Debian's mirror did not give {0}",
            "try again, or name another mirror: `--mirror`",
        ),
        (
            r"can neither be executed natively nor via qemu",
            "this machine cannot run programs of the other architecture, as Debian's packages want to when installed",
            "on Debian or Ubuntu: `apt-get install qemu-user-static binfmt-support`, or build on such a machine",
        ),
        (
            r"not the superuser|unshare.*(?:failed|not permitted)|/etc/subuid",
            "this user may not make a root filesystem",
            "run it as root, or give the user subordinate ids (/etc/subuid) and install `uidmap`",
        ),
    )
)
"""What of the words of mmdebstrap, apt and mke2fs tells -> what it means, and what a person can do."""


class RunProgram(Protocol):
    """Runs a program to its end. Raises `ImageRefused` with its last words where it fails."""

    def __call__(self, command: Sequence[str], *, environment: Mapping[str, str], stdin: str = "") -> None: ...


def run(command: Sequence[str], *, environment: Mapping[str, str], stdin: str = "") -> None:
    """The real one. `environment` stands over that of this process."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise ImageRefused(f"`{command[0]}` is not installed here", next_step=_how_to_get(command[0])) from None
    if done.returncode:
        raise refused(command[0], done.stdout)


def refused(program: str, told: str) -> ImageRefused:
    """What the words of a program that failed mean for a person: its errors, and the last it said. Pure."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()][:_LAST_LINES]
    last = " / ".join(dict.fromkeys((*errors, *lines[-_LAST_LINES:]))) or "it said nothing"
    for said, why, next_step in _MEANINGS:
        if found := said.search(told):
            named = next((one for one in found.groups() if one), "")
            return ImageRefused(why.format(named), next_step=next_step)
    return ImageRefused(f"`{program}` failed: {last}")


def _how_to_get(program: str) -> str:
    package = {"unshare": "util-linux", "chroot": "coreutils", "dpkg-query": "dpkg"}.get(program, program)
    return f"on Debian or Ubuntu: `apt-get install {package}`"
