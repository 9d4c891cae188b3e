"""Terraform's JSON stream (`-json`, ui 1.2) as typed events: what a person watches and what an error is made of."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from providers.tf.address import target_of


class ProgressKind(StrEnum):
    """`STARTED`, `RUNNING`, `DONE` and `FAILED` are about one resource; `ERROR` and `WARNING` about the run."""

    STARTED = "started"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    OUTPUT = "output"
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """One step of a run. `target` is `<resource>/<key>` or empty; `action` is Terraform's word (create, delete)."""

    kind: ProgressKind
    target: str
    action: str
    message: str
    elapsed_s: float = 0.0


OnProgress = Callable[[RunProgress], None]

_KINDS = {
    "apply_start": ProgressKind.STARTED,
    "apply_progress": ProgressKind.RUNNING,
    "apply_complete": ProgressKind.DONE,
    "apply_errored": ProgressKind.FAILED,
    "provision_progress": ProgressKind.OUTPUT,
}

_ECHO = "local-exec: Executing:"
"""Terraform announces each provisioner; only what the provisioner itself says is of interest."""


def parse_line(line: str) -> RunProgress | None:
    """One line of the stream, None for what nobody needs to see (versions, summaries, plan echoes, plain text)."""
    try:
        message = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(message, dict):
        return None
    if message.get("type") == "diagnostic":
        return _diagnostic(message["diagnostic"])
    kind = _KINDS.get(message.get("type", ""))
    hook = message.get("hook", {})
    if kind is None or str(hook.get("output", "")).startswith(_ECHO):
        return None
    return _step(kind, hook)


def _step(kind: ProgressKind, hook: dict[str, Any]) -> RunProgress:
    resource = hook.get("resource", {})
    return RunProgress(
        kind=kind,
        target=target_of(
            address=str(resource.get("addr", "")),
            name=str(resource.get("resource_name", "")),
            key=resource.get("resource_key"),
        ),
        action=str(hook.get("action", "")),
        message=str(hook.get("output", "")),
        elapsed_s=float(hook.get("elapsed_seconds", 0.0)),
    )


def _diagnostic(told: dict[str, Any]) -> RunProgress:
    parts = [str(told.get("summary", "")), str(told.get("detail", "")).strip()]
    where = told.get("address") or ""
    return RunProgress(
        kind=ProgressKind.ERROR if told.get("severity") == "error" else ProgressKind.WARNING,
        target=str(where),
        action="",
        message=": ".join(part for part in parts if part) + (f" ({where})" if where else ""),
    )
