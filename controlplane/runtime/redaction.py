"""No secret leaves by a text that this process writes for people or their machines: the log, an error, a traceback."""

import sys
import traceback
from datetime import datetime
from types import TracebackType
from typing import Any

from agent.masking import masked, names_secret
from events.secrets import known_secrets

MASK = "***"
_PLAIN = (bool, int, float, type(None), datetime)


def redacted(text: str) -> str:
    """The text with `***` for every secret this process read, and for what has the shape of one."""
    return masked(text, known_secrets(), mask=MASK)


def redacted_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The same of what becomes a JSON object, keys and all; what is no plain value is written as its text."""
    if all(isinstance(value, (str, *_PLAIN)) for value in fields.values()):
        # All in one go where there is nothing to hide, which is nearly always: a look costs as much for one as for all.
        line = "\n".join(f"{name}={value}" for name, value in fields.items())
        if redacted(line) == line:
            return fields
    return {redacted(str(name)): _named(name, value) for name, value in fields.items()}


def tell_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """For `sys.excepthook`: the traceback as Python writes it, redacted."""
    sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))


def _named(name: Any, value: Any) -> Any:
    """A name is half of the shape: neither side of `{"password": "a b"}` says alone what it is."""
    if isinstance(name, str) and isinstance(value, str) and value and names_secret(name):
        return MASK
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return redacted_fields(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_named(None, one) for one in value]
    return value if isinstance(value, _PLAIN) else redacted(str(value))
