"""A network for a command alone: brokers of tests live on fixed loopback addresses, and VMs with networks of their own
share one switch (`providers/local/namespaces.py`): two runs beside each other on one machine would find each other's.
"""

import subprocess
from collections.abc import Sequence
from functools import cache

_NAMES = ("/run/netns", "/run/kedge-networks")
"""Where networks have their names, for the whole machine but for who mounts something else there."""
_OWN_NAMES = "".join(f"mkdir -p {there} && mount -t tmpfs none {there} && " for there in _NAMES)
_WITH_LOOPBACK = (
    *("unshare", "--net", "--mount", "--", "sh", "-c"),
    *(_OWN_NAMES + 'ip link set lo up && exec "$@"', "sh"),
)


def in_own_network(command: Sequence[str]) -> tuple[str, ...]:
    """The command, with a loopback of its own and nothing else where this user can make one; else as it is."""
    return (*_WITH_LOOPBACK, *command) if can_have_own_network() else tuple(command)


@cache
def can_have_own_network() -> bool:
    """That takes Linux, `unshare` and `ip`, and as a rule root."""
    try:
        return subprocess.run((*_WITH_LOOPBACK, "true"), capture_output=True, check=False, timeout=10).returncode == 0
    except OSError:
        return False
