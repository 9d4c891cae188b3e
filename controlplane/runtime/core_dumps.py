"""No core file of this process, nor of what it starts: the secrets it holds in memory would be in it, as plain text."""

import resource


def leave_no_core_files() -> None:
    """Sets the soft limit of the size of core files to 0, which systemd's handler of cores keeps to as well. The hard
    limit stays, so that who looks for a fault may still raise the soft one (`prlimit --core`)."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
