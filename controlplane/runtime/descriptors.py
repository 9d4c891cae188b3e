"""How many files and connections this process may have open at once, and how they are shared out.

Each connection is a descriptor, and so is each file of the database, each connection to a broker and each pipe to a
child. An agent holds two connections: one for its reports, one for the question that is held until its document
changes. Whoever has none left cannot accept, nor open a file: see getrlimit(2), RLIMIT_NOFILE.
"""

import errno
import logging
import os
import resource
from dataclasses import dataclass

_log = logging.getLogger(__name__)

CONNECTIONS_OF_AN_AGENT = 2
NONE_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What the kernel says when there are none, or no memory for another one."""
MOST_DESCRIPTORS = 1 << 20
"""Beyond that a limit buys nothing, and some children walk through all numbers below it."""
MOST_CONNECTIONS = 20_000
"""Whatever the limit is: each costs memory, some 50 KiB, over TLS 100."""


@dataclass(frozen=True, slots=True)
class ConnectionBudget:
    """How many connections are kept at most: in all, and of agents among them. The rest is people's."""

    limit: int
    connections: int
    of_agents: int

    @property
    def agents(self) -> int:
        """Agents that fit."""
        return self.of_agents // CONNECTIONS_OF_AN_AGENT


def budget_of(limit: int) -> ConnectionBudget:
    """A quarter of the descriptors, between 128 and 1,024, is for databases, brokers, children and files, and for
    connections that are accepted or closed in this very turn of the event loop. An eighth of the connections, between
    16 and 512, is for people.
    """
    reserved = min(max(128, limit // 4), 1024)
    connections = min(max(32, limit - reserved), MOST_CONNECTIONS)
    for_people = min(max(16, connections // 8), 512)
    return ConnectionBudget(limit, connections, max(CONNECTIONS_OF_AN_AGENT, connections - for_people))


def raise_limit() -> int:
    """Raises the soft limit to the hard one, which needs no right. The limit that is in force then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            _log.warning("the limit of open files stays at %d, %d is allowed: %s", soft, wanted, error)
            return soft
        return wanted
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def current_limit() -> int:
    """The soft limit in force, without changing it."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def open_descriptors() -> int | None:
    """How many are open; None where not even that can be looked up, for want of one."""
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # the look itself has one
    except OSError:
        return None
