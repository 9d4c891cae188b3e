"""Which TCP ports something listens at inside a VM, on whatever address: what there is to be let in at."""

from pathlib import Path

_LISTENING = "0A"


def listening(pid: int) -> set[int]:
    """Those of the network namespace of a process, by proc(5)'s tables."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENING}
