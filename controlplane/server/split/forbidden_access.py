"""What a portal's own user must not be able to read, looked at before it serves anybody.

A portal that can read the loop's keys, Terraform's states or its cloud settings is no portal apart: a hole in it would
be a hole in all of them. So it does not start.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from controlplane.storage.home_binding import HomeRecord

SECRETS = ("server-key", "ca-key.pem", "cluster-authorities.json", "token", "terraform", "local")
"""Of a loop's home: keys, sealed ones of clusters' CAs among them, the operator's token, Terraform's states and plans,
VMs of the `local` cloud."""

NOT_A_PORTALS = ("server-key", "ca-key.pem", "cluster-authorities.json", "home-id", "leader.lock")
"""What only a home has whose server leads, or may."""

Access = Callable[[Path, int], bool]


class PortalRefused(Exception):
    """A portal would be able to do more than a portal should, or cannot be one. What now: give up; a person mends what
    the message says.
    """


def check_reach(home: Path, homes: Iterable[HomeRecord], host: str, *, access: Access = os.access) -> None:
    """Raises PortalRefused where this process can read a secret of a loop on this machine, or has a loop's home."""
    own = [name for name in NOT_A_PORTALS if (home / name).exists()]
    if own:
        raise PortalRefused(
            f"{home} is the home of a server that leads, or may: it has {', '.join(own)}. Give the portal a home of "
            "its own: `kedge server --only portal --home DIR`"
        )
    open_to_us = sorted({str(path) for path in _readable(homes, host, access)})
    if open_to_us:
        who = "root, who reads everything" if os.geteuid() == 0 else f"user {os.geteuid()}"
        raise PortalRefused(
            f"this process runs as {who}, and can read {', '.join(open_to_us)}: a hole in the portal would be a hole "
            "in the loop. Start it as a user of its own, and keep the loop's home mode 0700 (docs/operating.md, Loop "
            "and portal apart). Where one user is enough, `kedge server` without --only is one process for all"
        )


def _readable(homes: Iterable[HomeRecord], host: str, access: Access) -> Iterator[Path]:
    for member in homes:
        if member.home.host != host:
            continue
        folder = Path(member.home.path)
        yield from (folder / name for name in SECRETS if access(folder / name, os.R_OK))
        if access(folder, os.W_OK):
            yield folder
