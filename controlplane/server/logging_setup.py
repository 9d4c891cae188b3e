"""The server's log on its standard error: lines for people, or JSON objects for what collects them. Secrets are taken
out of what is written, last of all, so however they came into it."""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from controlplane.runtime.redaction import redacted, redacted_fields
from controlplane.runtime.untrusted_text import escaped, escaped_json
from controlplane.storage.log_context import FIELDS, WithContext

_NOISY = ("uvicorn", "alembic")
_log = logging.getLogger(__name__)


def log_to_stderr(level: str, form: str, *, server: str = "") -> None:
    """From here on, as `text` or `json`. `server` names this process where several write to one place, in JSON only."""
    handler = Stderr()
    handler.setFormatter(json_lines(server) if form == "json" else Lines())
    handler.addFilter(WithContext())
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)


@contextmanager
def thread_errors_logged() -> Iterator[None]:
    """A thread that ends by an error nobody expected says so in the log; Python would write it down as it is."""
    before, threading.excepthook = threading.excepthook, _tell_thread
    try:
        yield
    finally:
        threading.excepthook = before


def json_lines(server: str = "") -> logging.Formatter:
    """One object a line: `at` (UTC, RFC 3339), `level`, `logger`, `message`, `error` (a traceback), and the context."""
    shown = "".join(f"%({name})s" for name in ("asctime", "levelname", "name", "message"))
    made = Objects(
        shown,
        rename_fields={"asctime": "at", "levelname": "level", "name": "logger", "exc_info": "error"},
        static_fields={"server": server} if server else {},
        json_ensure_ascii=False,
    )
    made.converter = time.gmtime
    made.default_time_format = "%Y-%m-%dT%H:%M:%S"
    made.default_msec_format = "%s.%03dZ"
    return made


class Stderr(logging.StreamHandler[Any]):
    """Standard error. A record that cannot be written is told by its place, not by its arguments as logging does."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        what = "".join(traceback.format_exception_only(sys.exception())).strip()
        place = f"{record.pathname}:{record.lineno}"
        self.stream.write(redacted(f"a line of the log could not be written, asked for at {place}: {what}\n"))


class Objects(JsonFormatter):
    """One JSON object a line."""

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return redacted_fields(log_data)

    def serialize_log_record(self, log_data: dict[str, Any]) -> str:
        return escaped_json(super().serialize_log_record(log_data))


class Lines(logging.Formatter):
    """`2026-01-02 03:04:05,678Z INFO logger: words [cluster=orders node=brokers-a-0 position=812]`, in UTC.

    What follows of one record, as a traceback, is indented: nobody's words look like a line of their own.
    """

    default_msec_format = "%s,%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return escaped(redacted(super().format(record))).replace("\n", "\n  ")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        fields = " ".join(f"{name}={value}" for name in FIELDS if (value := getattr(record, name, None)) is not None)
        return f"{line} [{fields}]" if fields else line


def _tell_thread(ended: threading.ExceptHookArgs) -> None:
    if not issubclass(ended.exc_type, SystemExit):
        name = ended.thread.name if ended.thread else "a thread"
        error = ended.exc_value or ended.exc_type()
        _log.critical("%s ended by an unexpected error", name, exc_info=error)
