"""When the server wants to hear: a change at once, everything else when it asked for it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agent.wire import OverlayReport, Report
from agent.wire_pace import SILENT_AFTER_S

LONGEST_S = 120.0
"""No answer silences an agent for longer."""
WHOLE_WITHIN_S = 55.0
"""Measurements are sent so often at rest: with every second report at the pace of 30 s."""
_STEPS = 50
"""How full a volume is, is told at once in steps of 2 %."""


def asked_within(next_s: float | None, every_s: float) -> float:
    """Seconds until the next report by what the server said: never sooner than an agent makes them."""
    return every_s if next_s is None else min(max(next_s, every_s), LONGEST_S)


def digest_of(report: Report) -> str:
    """The name of what a report says beside measurements: another one is a change, and told at once."""
    said = report.model_dump(mode="json", exclude={"seq", "at", "digest", "heartbeats"})
    said["services"] = [_said_of(service) for service in said["services"]]
    said["overlay"] = overlay_said(report.overlay)
    said["silent"] = sorted((h.broker, h.problem) for h in report.heartbeats if h.silent_s >= SILENT_AFTER_S)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def overlay_said(report: OverlayReport | None) -> list[object]:
    """What it says beside measurements."""
    if report is None:
        return []
    peers = ([p.node, p.generation, p.path, p.up] for p in report.peers)
    return [report.unable, report.problem, report.kept, report.epoch, report.public_key, *peers]


def _said_of(service: Mapping[str, Any]) -> dict[str, Any]:
    measured = ("metrics", "log_dirs", "log_lines", "old_clients", "progress", "findings")
    said = {name: value for name, value in service.items() if name not in measured}
    said["exits"] = service["metrics"].get("unexpected_exits")
    said["findings"] = sorted(finding["name"] for finding in service["findings"])
    said["log_dirs"] = [(d["name"], _fullness(d)) for d in service["log_dirs"]]
    return said


def _fullness(log_dir: Mapping[str, Any]) -> int:
    total = log_dir["total_bytes"]
    return round(_STEPS * log_dir["free_bytes"] / total) if total > 0 else -1
