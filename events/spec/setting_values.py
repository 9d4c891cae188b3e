"""Whether Kafka could read the value of a setting: its type, then the range or the choices Kafka names for it.

These are the checks of each setting alone (`ConfigDef`). What Kafka holds against other settings (`KafkaConfig`'s own
checks at start) is left to Kafka.
"""

import re
from dataclasses import dataclass

from events.spec.setting_table import Setting
from events.spec.suggestions import nearest

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_BITS = {"short": 16, "int": 32, "long": 64}

_RANGE = re.compile(r"\[(-?[0-9.]+),\.\.\.(?:,(-?[0-9.]+))?\](?: or (-?[0-9]+))?")
"""`[1,...]`, `[0,...,1]`, `[1,...,9] or -1` (`ConfigDef.Range`, `GzipCompression.LevelValidator`)."""

_CHOICES = re.compile(r"(\(case insensitive\) )?\[([^\[\]]+)\]")
"""`[CreateTime, LogAppendTime]` (`ConfigDef.ValidString`, `ValidList`, `CaseInsensitiveValidString`)."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why Kafka would not take a value, to follow "but", and the choice that was probably meant."""

    why: str
    meant: str | None = None


def unreadable_because(setting: Setting, value: str) -> Unreadable | None:
    """Why Kafka could not start with this value, or None if it could, as far as the setting alone tells."""
    return _wrong_type(setting.type, value) or _out_of_range(setting.valid, value) or _no_choice(setting, value)


def as_kafka_reads(setting: Setting, value: str) -> str:
    """The value in one form, so that two texts are equal exactly when Kafka reads them alike.

    `072` and `72`, `True` and `true`, `a, b` and `a,b` are the same to it. Raises `ValueError` for a number that is
    none.
    """
    bare = value.strip()
    if setting.type == "boolean":
        return bare.lower()
    if setting.type in _BITS:
        return str(int(bare))
    if setting.type == "double":
        return repr(float(bare))
    return ",".join(_items(bare)) if setting.type == "list" else bare


def reads_alike(setting: Setting | None, left: str, right: str) -> bool:
    """Whether Kafka reads both alike. A text it cannot read, or of a setting no table has, is like itself alone."""
    if left == right or setting is None:
        return left == right
    try:
        return as_kafka_reads(setting, left) == as_kafka_reads(setting, right)
    except ValueError:
        return False


def _items(value: str) -> list[str]:
    """`ConfigDef.parseType`: items of a list are trimmed."""
    return [word for word in re.split(r"\s*,\s*", value.strip()) if word]


def _wrong_type(kind: str, value: str) -> Unreadable | None:
    if kind == "boolean" and value.lower() not in ("true", "false"):
        return Unreadable("must be true or false")
    if kind in _BITS:
        limit: int = 1 << (_BITS[kind] - 1)
        if not _INTEGER.fullmatch(value) or not -limit <= int(value) < limit:
            return Unreadable(f"must be a whole number of {_BITS[kind]} bits")
    if kind == "double" and not _DECIMAL.fullmatch(value):
        return Unreadable("must be a number")
    return None


def _out_of_range(valid: str, value: str) -> Unreadable | None:
    bounds = _RANGE.fullmatch(valid)
    if bounds is None or value == bounds[3]:
        return None
    lowest, highest, also = bounds[1], bounds[2], bounds[3]
    if float(value) >= float(lowest) and (highest is None or float(value) <= float(highest)):
        return None
    words = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    return Unreadable(f"must be {words}{f', or {also}' if also else ''}")


def _no_choice(setting: Setting, value: str) -> Unreadable | None:
    if setting.valid in ("non-empty string", "non-empty list") and not value.strip():
        return Unreadable("must not be empty")
    choices = _CHOICES.fullmatch(setting.valid)
    if choices is None or _RANGE.fullmatch(setting.valid):
        return None
    known = choices[2].split(", ")
    accepted = {word.lower() for word in known} if choices[1] else set(known)
    given = _items(value) if setting.type == "list" else [value]
    wrong = [word for word in given if (word.lower() if choices[1] else word) not in accepted]
    if not wrong:
        return None
    several = "made of" if setting.type == "list" else "one of"
    return Unreadable(f"must be {several} {', '.join(known)}", nearest(wrong[0], known))
