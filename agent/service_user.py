"""The user that services run as: on VMs of clouds Kafka is not root, and the agent's own files are not its own.

What the agent writes for a service stays the agent's, readable through its group; what the service writes (its data,
its log) is in directories that are the user's.
"""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path


class NoSuchUser(ValueError):
    """The machine has no such user, or this agent may not start anything as it."""


@dataclass(frozen=True, slots=True)
class ServiceUser:
    """A user of the machine, by number."""

    name: str
    uid: int
    gid: int

    def share(self, directory: Path) -> None:
        """Makes a directory whose files the user can read, and nobody else but its owner."""
        directory.mkdir(parents=True, exist_ok=True)
        os.chown(directory, -1, self.gid)
        directory.chmod(0o750)

    def give(self, directory: Path) -> None:
        """Makes the tree its own. Links are not followed. Raises OSError.

        All of it is looked at each time: an older agent may have run the service as root in between. Kafka looks at
        the same files right after it.
        """
        for folder, _, files in os.walk(directory):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                about = os.lstat(path)
                if (about.st_uid, about.st_gid) != (self.uid, self.gid):
                    os.chown(path, self.uid, self.gid, follow_symlinks=False)


def service_user(name: str) -> ServiceUser:
    """Raises `NoSuchUser`."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise NoSuchUser(f"this machine has no user {name}: useradd --system {name}") from None
    if os.geteuid() not in (0, found.pw_uid):
        raise NoSuchUser(f"only root can start services as {name}: start the agent as root, or as {name}")
    return ServiceUser(name, found.pw_uid, found.pw_gid)
