"""Ownership as Google Cloud can hold it: labels of VMs and disks, the description of an address.

A label's value has at most 63 characters of a-z, 0-9, `-` and `_` (Compute Engine, "Requirements for labels"). Whatever
else a value has is spelled `_` and the two hex digits of each byte; what is longer goes on in `<key>-2`, `<key>-3` and
so on. Two values never come out alike, and `decoded` gives back what was given to `encoded`.

An address takes labels only by a second call (`addresses.setLabels`), so its owner stands in its description instead.
"""

import re
from collections.abc import Iterable, Mapping

REGION = "kedge-region"
"""Listings are of a whole project; this label keeps one to its region."""

DIR = "kedge-dir"
VERSION = "kedge-version"
"""With the node they are the key of a data volume. A boot disk has neither."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which Google's own names do not tell."""

EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes of an instance that are its own disks, keys with a space between."""

LONGEST = 63
_MOST_LABELS = 64
_PLAIN = re.compile(r"[a-z0-9-]")
_SPELLED = re.compile(r"(?:_[0-9a-f]{2})+")
_CONTINUED = re.compile(r"^(?P<key>.*?)-(?P<part>[2-9]|[1-9]\d)$")
_ADDRESS = "kedge"


def encoded(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as labels. Keys are legal already (`providers.tags`) and end with no number.

    Raises `ValueError` for more than Google's 64 labels.
    """
    labels: dict[str, str] = {}
    for key, value in tags.items():
        spelled = "".join(c if _PLAIN.fullmatch(c) else _spelled(c) for c in value)
        parts = [spelled[i : i + LONGEST] for i in range(0, len(spelled), LONGEST)] or [""]
        labels |= {key if n == 1 else f"{key}-{n}": part for n, part in enumerate(parts, start=1)}
    if len(labels) > _MOST_LABELS:
        raise ValueError(f"{len(labels)} labels are more than the {_MOST_LABELS} Google Cloud takes")
    return labels


def decoded(labels: Mapping[str, str]) -> dict[str, str]:
    """The tags behind labels. Labels nobody here wrote come out somehow, and no error is raised for them."""
    parts: dict[str, dict[int, str]] = {}
    for key, value in labels.items():
        continued = _CONTINUED.match(key)
        if continued and continued["key"] in labels:
            parts.setdefault(continued["key"], {})[int(continued["part"])] = value
        else:
            parts.setdefault(key, {})[1] = value
    joined = {key: "".join(text for _, text in sorted(found.items())) for key, found in parts.items()}
    return {key: _SPELLED.sub(lambda m: _read(m[0]), text) for key, text in joined.items()}


def volume_key(tags: Mapping[str, str], node: str) -> str | None:
    """Key of a data volume by its tags, None for any other disk."""
    if not tags.get(DIR) or not tags.get(VERSION, "").isdecimal() or not node:
        return None
    return f"{node}.{tags[DIR]}.v{tags[VERSION]}"


def joined(keys: Iterable[str]) -> str:
    """Keys as one value."""
    return " ".join(sorted(keys))


def address_owner(description: str) -> tuple[str, str, str] | None:
    """(installation, cluster uid, node) of an address as the module writes it, None for one that is not ours."""
    words = description.split(" ")
    return (words[1], words[2], words[3]) if len(words) == 4 and words[0] == _ADDRESS else None


def address_filter(installation_id: str) -> str:
    """Addresses of an installation, in Google's own words (regular expressions match the whole field)."""
    return f'description eq "{_ADDRESS} {installation_id} .*"'


def _spelled(character: str) -> str:
    return "".join(f"_{byte:02x}" for byte in character.encode())


def _read(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("_", "")).decode(errors="replace")
