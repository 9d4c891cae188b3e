"""The agent's own log, without its secrets: those it reads or makes are known here, others go by their shape."""

import logging
import re
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from agent.masking import masked

_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----END", re.DOTALL)

_KNOWN: deque[str] = deque(maxlen=32)
"""A rotation adds one, a certificate the lines of its key, and what they took the place of soon counts nowhere."""


def remember(text: str) -> None:
    """From here on no line of the log has it."""
    if text and text not in _KNOWN:
        _KNOWN.append(text)


def remember_key(pem: str) -> None:
    """The same for the private key of a PEM text, line by line: whole it goes by its shape, a line of it has none."""
    for key in _KEY.findall(pem):
        for line in key.split():
            remember(line)


def known_secrets() -> tuple[str, ...]:
    """What was remembered."""
    return tuple(_KNOWN)


class MaskedLines(logging.Formatter):
    """A line of the agent's log, its traceback with it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record), known_secrets())


def mask_tracebacks() -> None:
    """What ends this process, or a thread of it, is written to standard error as Python does, masked."""
    sys.excepthook = _tell
    threading.excepthook = lambda ended: _tell(ended.exc_type, ended.exc_value or ended.exc_type(), ended.exc_traceback)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, SystemExit):
        sys.stderr.write(masked("".join(traceback.format_exception(kind, error, trace)), known_secrets()))
