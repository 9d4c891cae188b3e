"""For which machines an agent was built, as in `cp311-x86_64`: it holds packages compiled for one Python and processor.

Python's standard library alone: it is asked before anything that was compiled is loaded.
"""

import platform
import sys
from pathlib import Path

MARK = "agent/BUILT_FOR"
"""The file of an archive that says it. A checkout has none, and archives of earlier releases have none."""

BUILT_FOR = Path(__file__).with_name("BUILT_FOR")
"""That of the agent that runs."""


def own_platform() -> str:
    """What compiled packages this VM can load."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}-{platform.machine()}"


def marked_platform(mark: Path) -> str:
    """What a mark says, "" where there is none. Raises `OSError` where it cannot be read."""
    try:
        return mark.read_text().strip()
    except FileNotFoundError:
        return ""


def wrong_platform(mark: Path, own: str = "") -> str:
    """Why an agent with this mark can do nothing here, "" where it can. `own`: of this machine, unless told."""
    built_for, own = marked_platform(mark), own or own_platform()
    if not built_for or built_for == own:
        return ""
    processor = own.partition("-")[2]
    return (
        f"this agent was built for {built_for} and this VM is {own}: nothing was started. Write the archive for it with"
        f" `kedge agent-bundle --arch {processor}`, and name that in `software.agent` of the cloud's settings"
        " (docs/agents.md)"
    )
