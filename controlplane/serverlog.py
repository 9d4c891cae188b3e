"""The server's log on its standard error: lines for people, or JSON objects for what collects them."""

import logging
import time

from pythonjsonlogger.json import JsonFormatter

from controlplane.logcontext import FIELDS, WithContext

_NOISY = ("uvicorn", "alembic")


def log_to_stderr(level: str, form: str, *, server: str = "") -> None:
    """From here on, as `text` or `json`. `server` names this process where several write to one place, in JSON only."""
    handler = logging.StreamHandler()
    handler.setFormatter(json_lines(server) if form == "json" else Lines())
    handler.addFilter(WithContext())
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)


def json_lines(server: str = "") -> logging.Formatter:
    """One object a line: `at` (UTC, RFC 3339), `level`, `logger`, `message`, `error` (a traceback), and the context."""
    shown = "".join(f"%({name})s" for name in ("asctime", "levelname", "name", "message"))
    made = JsonFormatter(
        shown,
        rename_fields={"asctime": "at", "levelname": "level", "name": "logger", "exc_info": "error"},
        static_fields={"server": server} if server else {},
        json_ensure_ascii=False,
    )
    made.converter = time.gmtime
    made.default_time_format = "%Y-%m-%dT%H:%M:%S"
    made.default_msec_format = "%s.%03dZ"
    return made


class Lines(logging.Formatter):
    """`2026-01-02 03:04:05,678Z INFO logger: words [cluster=orders node=brokers-a-0 position=812]`, in UTC."""

    default_msec_format = "%s,%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = super().formatMessage(record)
        told = " ".join(f"{name}={value}" for name in FIELDS if (value := getattr(record, name, None)) is not None)
        return f"{line} [{told}]" if told else line
