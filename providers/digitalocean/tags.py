"""Our tags as DigitalOcean's: flat words, `key:value`.

A tag is made of letters, numbers, `:`, `-` and `_`, at most 255 of them, and no two differ by case only (DigitalOcean
API reference, Tags). So a value keeps a-z, 0-9 and `-`; every other byte of its UTF-8 becomes `_` and two hexadecimal
digits, in lower case. `terraform/modules/digitalocean` writes the same words.
"""

import re
from collections.abc import Iterable, Mapping

ZONE = "kedge-zone"
"""The rack's label; DigitalOcean itself knows only the region."""

VOLUME = "kedge-volume"
"""Key of a data volume."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which a size slug and an image's id do not tell."""

EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes of a VM that are its own disk, keys with a space between: no API lists what is on it."""

LONGEST = 255

_PLAIN = re.compile(r"[a-z0-9-]")
_ESCAPED = re.compile(r"_([0-9a-f]{2})")
_ENCODED = re.compile(r"(?:[a-z0-9-]|_[0-9a-f]{2})*")


def encoded(value: str) -> str:
    """A value in the words of a tag. `decoded` gives it back; two values never have the same."""
    return "".join(c if _PLAIN.fullmatch(c) else "".join(f"_{b:02x}" for b in c.encode()) for c in value)


def decoded(word: str) -> str:
    """The value of a word. Raises `ValueError` for what `encoded` never wrote."""
    if not _ENCODED.fullmatch(word):
        raise ValueError(f"{word!r} is not a value of a tag of ours")
    if "_" not in word:
        return word
    raw = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), word).encode("latin-1")
    value = raw.decode()
    if encoded(value) != word:
        raise ValueError(f"{word!r} is not a value of a tag of ours")
    return value


def tag(key: str, value: str) -> str:
    """One tag. Raises `ValueError` when it does not fit: a tag that is cut would mean something else."""
    word = f"{key}:{encoded(value)}"
    if len(word) > LONGEST:
        raise ValueError(f"the tag {word!r} is longer than the {LONGEST} characters DigitalOcean has for one")
    return word


def encoded_values(tags: Mapping[str, str]) -> dict[str, str]:
    """The same keys with values as a module joins them. Raises `ValueError` when one does not fit."""
    return {key: tag(key, value).partition(":")[2] for key, value in tags.items()}


def tags_of(words: Iterable[str]) -> dict[str, str]:
    """Key -> value of those words that are ours; what others wrote is left out, as is a key that stands there twice."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for word in words:
        key, colon, value = word.lower().partition(":")
        if not (colon and key.startswith("kedge-")):
            continue
        try:
            told = decoded(value)
        except ValueError:
            continue
        if key in found:
            twice.add(key)
        found[key] = told
    return {key: value for key, value in found.items() if key not in twice}
