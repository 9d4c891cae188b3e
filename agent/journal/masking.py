"""Takes secrets out of a line before it leaves the VM. Pure.

Kafka itself prints `[hidden]` for settings of its type password. What is left are settings it does not know as such,
commands of people, addresses with a password in them, and keys.
"""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

_WORDS = r"password|passwd|passphrase|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|jaas\.config"
_PATTERNS = (
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"(://[^\s/:@]*:)[^\s/@]+(?=@)"),
    re.compile(r"(\b(?:super|digest):)(?:[\w.-]+:)?[A-Za-z0-9+/]{20,}={0,2}"),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
)
_SETTING = re.compile(
    rf"(?i)([\w.-]*(?:{_WORDS})[\w.-]*[\"']?\s*[=:]\s*)"
    r"(\[hidden\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s,;}\])]+(?:\s+required\s[^\n;]*;?)?)"
)
_HARMLESS = re.compile(r"(?i)\A[\"']?(?:\[hidden\]|null|none|true|false|\d{1,9})[\"']?\Z")


def masked(text: str, known: Iterable[str] = ()) -> str:
    """The text without the values of settings that look like secrets, and without those of `known`."""
    for secret in known:
        if len(secret) >= 8:
            text = text.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return _SETTING.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    """What cannot be a secret stays, so that `password = null` can still be read."""
    return found[0] if _HARMLESS.match(found[2]) else found[1] + HIDDEN
