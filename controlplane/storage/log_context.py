"""What the lines of the server's log belong to. Whoever works says it once; every line written meanwhile carries it."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from controlplane.storage.streams import cluster_uid_of
from events.envelope import Recorded

FIELDS = (
    "cluster",
    "cluster_uid",
    "node",
    "key",
    "intent",
    "job",
    "version",
    "position",
    "event",
    "actor",
    "epoch",
    "request",
)
"""Every field a line may have beside its time, level, logger and words, in the order they are shown."""

_MAX_DATA = 300
_context: ContextVar[Mapping[str, object] | None] = ContextVar("log_context", default=None)


@contextmanager
def logged(**fields: object) -> Iterator[None]:
    """Lines of this thread carry these fields, beside those of who called, until the block ends. A thread that is
    started meanwhile has them only if it runs in a copy of the context."""
    token = _context.set({**current(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def current() -> Mapping[str, object]:
    """The fields a line written now would carry."""
    return _context.get() or {}


class WithContext(logging.Filter):
    """Puts the context's fields on each record; what the caller gave as `extra` goes first."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in current().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


def tell_event(log: logging.Logger, event: Recorded, cluster: str) -> None:
    """One line at INFO: what was recorded, of which cluster, node and intent, at which position of the log."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s %s", event.type, _words(event.data), extra=_fields(event, cluster))


def _fields(event: Recorded, cluster: str) -> dict[str, object]:
    data = event.data
    key = data.get("key") if isinstance(data.get("key"), str) else None
    node = data.get("node") or (key.rpartition(".")[0] if key else None)
    named = {
        "cluster": cluster or None,
        "cluster_uid": cluster_uid_of(event.stream),
        "node": node if isinstance(node, str) else None,
        "key": key,
        "intent": data.get("intent") if isinstance(data.get("intent"), str) else None,
        "version": event.version,
        "position": event.position,
        "event": event.type,
        "actor": event.actor,
        "epoch": event.epoch or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def _words(data: Mapping[str, Any]) -> str:
    """Values as JSON, so that nobody's text begins a line of its own; cut, as a declared spec is long."""
    words = " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in data.items())
    return words if len(words) <= _MAX_DATA else words[: _MAX_DATA - 3] + "..."
