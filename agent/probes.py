"""Is the service really up, and how full are its volumes. A probe that gets no answer says so; it never says "down"."""

import contextlib
import os
import re
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.disks.measuring import kept_rate
from agent.disks.saturation import SaturationWatch
from agent.host_port import HostPort
from agent.layout import AgentLayout
from agent.metrics import BROKER_STATE, BROKER_STATE_RUNNING, Jolokia, JolokiaSilent
from agent.wire import LogDir, LogDirReport, ServiceDocument

_PORT_TIMEOUT_S = 0.5
_PARTITION = re.compile(r"(?P<topic>.+)-\d+(\..+-(delete|stray|future))?")
"""Partition directories, `<topic>-<n>` and its renamed forms: org.apache.kafka.storage.internals.log.LocalLog."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """`up` and `down` are answers; `unknown` is none (Jolokia did not speak, the listener did)."""

    state: Literal["up", "down", "unknown"]
    reason: str = ""


def probe(service: ServiceDocument, jolokia: Jolokia | None) -> ProbeResult:
    """Listener first; a broker must also call itself RUNNING, since it listens while it still recovers logs."""
    if not listens(service.address, service.port):
        return ProbeResult("down", f"{HostPort(service.address, service.port)} does not accept connections yet")
    if service.name != "broker" or jolokia is None:
        return ProbeResult("up")
    try:
        state = jolokia.read((BROKER_STATE,)).get(BROKER_STATE.name)
    except JolokiaSilent as error:
        return ProbeResult("unknown", f"the metrics port does not answer: {error}")
    if state == BROKER_STATE_RUNNING:
        return ProbeResult("up")
    return ProbeResult("down", f"the broker's own state is {state}, running is {BROKER_STATE_RUNNING}")


def listens(address: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=_PORT_TIMEOUT_S):
        return True
    return False


def log_dir_reports(
    service: ServiceDocument, layout: AgentLayout, saturation: SaturationWatch
) -> tuple[LogDirReport, ...]:
    """Usage of the log directories that can be read now; one that cannot is left out: unknown is not empty."""
    reports = []
    for log_dir in service.log_dirs:
        with contextlib.suppress(OSError):
            partitions = _partitions_in(layout.data(log_dir))
            total_bytes, free_bytes = volume_usage(layout, log_dir)
            rate = kept_rate(layout.rate_file(log_dir), log_dir.volume)
            reports.append(
                LogDirReport(
                    name=log_dir.name,
                    total_bytes=total_bytes,
                    free_bytes=free_bytes,
                    partitions=partitions,
                    write_bytes_per_s=rate.write_bytes_per_s if rate else None,
                    read_bytes_per_s=rate.read_bytes_per_s if rate else None,
                    limit_bytes_per_s=_limit(layout.mount(log_dir), saturation),
                )
            )
    return tuple(reports)


def _limit(mount: Path, saturation: SaturationWatch) -> float | None:
    """Of a volume that is a device of its own; a directory shares its disk with others, and what that can do is not
    its."""
    volume = mount.resolve()
    return saturation.limit_bytes_per_s(volume.stat().st_dev) if volume.is_mount() else None


def volume_usage(layout: AgentLayout, log_dir: LogDir) -> tuple[int, int]:
    """(total, free) bytes of the volume.

    A volume that is a plain directory of a bigger filesystem (the `local` cloud where it may not mount) comes with its
    size in `volumes/<name>.bytes`; its use is then counted file by file, as du does.
    """
    mount = layout.mount(log_dir)
    usage = shutil.disk_usage(mount)
    size_file = mount.with_name(f"{log_dir.name}.bytes")
    size_bytes = int(size_file.read_text()) if size_file.exists() else usage.total
    if size_bytes >= usage.total:
        return usage.total, usage.free
    return size_bytes, max(0, min(size_bytes - _used_bytes(mount.resolve()), usage.free))


def is_partition(directory: str) -> bool:
    """True for a replica's directory, also one on its way out. The metadata log, which every node has, is none."""
    match = _PARTITION.fullmatch(directory)
    return match is not None and match["topic"] != "__cluster_metadata"


def _partitions_in(directory: Path) -> int:
    """How many. The listing itself says what is a directory: thousands of calls to ask are half of an agent's time."""
    with os.scandir(directory) as entries:
        return sum(is_partition(entry.name) and entry.is_dir() for entry in entries)


def _used_bytes(directory: Path) -> int:
    """Blocks on disk, not lengths: Kafka's index files are mostly holes."""
    used = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            with contextlib.suppress(FileNotFoundError):  # Kafka deletes while we count
                used += (Path(folder) / name).lstat().st_blocks * 512
    return used
