"""Takes secrets out of a text before it is written down or leaves the VM. Pure.

Two ways: values that are known, and the shapes secrets have. Kafka itself prints `[hidden]` for settings of its type
password. What is left are settings it does not know as such, commands of people, addresses with a password in them,
headers of calls, and keys. A text without any costs a few microseconds: a shape is looked for only where a word of it
is there.
"""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"
SHORTEST = 8
"""A known value that is shorter is not looked for: it would be found inside of plain words."""

_WORDS = (
    *("password", "passwd", "passphrase", "secret", "token", "credential", "jaas.config"),
    *(f"{kind}{dash}key" for kind in ("api", "access", "private") for dash in ("", "-", "_")),
)
# The plural is English, as in "credentials: none found"; the word alone is a name.
_NAMED = (
    r"(?:(?:password|secret|token|credential)(?!s\b)|passwd|passphrase|(?:api|access|private)[_-]?key|jaas\.config)"
    r"[\w.-]*"
)

_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("-----begin",),
        re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    (
        ("authorization",),
        re.compile(
            r"(?i)(authorization\\?[\"']?\s*[=:,]\s*b?\\?[\"']?(?:basic|bearer|token|digest|negotiate|apikey"
            r"|sharedkey(?:lite)?|aws4-hmac-sha256)\s+)[^\"'\\\r\n]+"
        ),
    ),
    (("bearer",), re.compile(r"(?i)(\bbearer\s+)(?=[^\s\"']*[0-9._~+/=-]|[^\s\"']{16})[A-Za-z0-9._~+/=-]{6,}")),
    (("basic",), re.compile(r"(?i)(\bbasic\s+)(?=[^\s\"']*[0-9=+/]|[^\s\"']{16})[A-Za-z0-9+/_=-]{6,}")),
    (("cookie",), re.compile(r"(?i)(cookie\\?[\"']?\s*[=:,]\s*b?\\?[\"']?[^\s\"'=;,]+=)[^\"'\\\r\n]+")),
    (("://",), re.compile(r"(://[^\s/:@\"']*:)[^\s/@\"']+(?=@)")),
    (("http",), re.compile(r"(https?://)[^\s/:@\"']+(?=@)")),
    (("x-amz-", "x-goog-", "sig="), re.compile(r"(?i)(\b(?:x-(?:amz|goog)-(?:signature|credential)|sig)=)[^&\s\"']+")),
    (("super:", "digest:"), re.compile(r"(\b(?:super|digest):)(?:[\w.-]+:)?[A-Za-z0-9+/]{20,}={0,2}")),
    (("akia", "asia"), re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    (("eyj",), re.compile(r"()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
    (("kedge_",), re.compile(r"(\bkedge_[0-9a-f]{12}_)[A-Za-z0-9_-]{43}")),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "dop_v1_"),
        re.compile(r"(\b(?:gh[pousr]_|github_pat_|glpat-|dop_v1_))[A-Za-z0-9_-]{16,}"),
    ),
)
_SETTING = re.compile(
    rf"(?i)({_NAMED}\\?[\"']?\s*[=:]\s*)"
    r"(\[hidden\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s,;}\])]+(?:\s+required\s[^\n;]*;?)?)"
)
_HARMLESS = re.compile(
    r"(?i)\A\\?[\"']?(?:\[hidden\]|\*{3,}|SecretStr\('\**'|null|none|true|false|\d{1,9}|[\[{])?\\?[\"']?\Z"
)
_REFERENCE = re.compile(r"(?i)[_.-](?:env|variable|file|path)\\?[\"']?\s*[=:]\s*\Z")
_ACTOR = re.compile(r"token:\Z")


def masked(text: str, known: Iterable[str] = (), *, mask: str = HIDDEN) -> str:
    """The text without the values of settings that look like secrets, and without those of `known`.

    Where one known value holds another, name the longer one first.
    """
    for secret in known:
        if len(secret) >= SHORTEST:
            text = text.replace(secret, mask)
    lower = text.lower()
    for words, shape in _SHAPES:
        for word in words:
            if word in lower:
                text = shape.sub(rf"\g<1>{mask}", text)
                break
    for word in _WORDS:
        if word in lower:
            return _SETTING.sub(lambda found: _hidden(found, mask), text)
    return text


def names_secret(name: str) -> bool:
    """Whether what stands under that name in a document is taken for a secret."""
    lower = name.lower()
    if not any(word in lower for word in _WORDS) or _REFERENCE.search(f"{lower}="):
        return False
    return re.search(_NAMED + r"\Z", lower) is not None


def _hidden(found: re.Match[str], mask: str) -> str:
    """What cannot be a secret stays, so that `password = null` can still be read: a value that says nothing, where one
    is kept, and `token:LABEL`, which is what a person's program is called."""
    name, value = found[1], found[2]
    is_plain = _HARMLESS.match(value) or _REFERENCE.search(name) or (_ACTOR.match(name) and value[0] not in "\"'")
    return found[0] if is_plain else name + mask
