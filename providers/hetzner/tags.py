"""Tags as labels of Hetzner, which take fewer signs than a tag may have, and the tags only Hetzner needs.

A value that is a label already stays as it is, for people and for selectors. Any other is written in base32 behind a
mark, over as many labels as it needs. Different tags never become the same labels, and all of them come back.
"""

import base64
import binascii
import re
from collections.abc import Mapping

DIR = "kedge-dir"
VERSION = "kedge-version"
"""With the node they are the key of a data volume: `<node>.<dir>.v<version>`."""

ZONE = "kedge-zone"
"""The zone of a spec; a location of Hetzner may hold several."""

ADDRESS = "kedge-address"
"""On each VM of a node that owns an address: that address, bound to this VM or not."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which Hetzner's own type and snapshot do not tell."""

EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes of an instance that are its own disk, keys with a space between: no API lists what is on it."""

_PLAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
"""Values a label may have (docs.hetzner.cloud, Labels): at most 63 signs, letters and digits at both ends."""

_CODED = re.compile(r"b32\.(?P<parts>\d{1,2})\.(?P<text>[a-z2-7]+)")
_MARK, _PART = "b32.", 56
"""56 letters and `b32.NN.` are 63 signs."""


def labels_of(tags: Mapping[str, str]) -> dict[str, str]:
    """Labels that hold the tags; the second and later parts of a long value are `<name>.2` and so on."""
    labels: dict[str, str] = {}
    for name, value in tags.items():
        if _PLAIN.fullmatch(value) and not value.startswith(_MARK):
            labels[name] = value
            continue
        text = base64.b32encode(value.encode()).decode().rstrip("=").lower()
        parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
        for number, part in enumerate(parts, 1):
            labels[name if number == 1 else f"{name}.{number}"] = f"{_MARK}{len(parts)}.{part}"
    return labels


def tags_of(labels: Mapping[str, str]) -> dict[str, str]:
    """The tags behind labels. One whose parts are not all there, or no text, is left out: it was not written here."""
    tags: dict[str, str] = {}
    for name, value in labels.items():
        if not value.startswith(_MARK):
            tags[name] = value
        elif (text := _decoded(name, labels)) is not None:
            tags[name] = text
    return tags


def selector(tags: Mapping[str, str]) -> str:
    """A label selector for what has all of the tags."""
    return ",".join(f"{name}={value}" for name, value in sorted(labels_of(tags).items()))


def _decoded(name: str, labels: Mapping[str, str]) -> str | None:
    first = _CODED.fullmatch(labels[name])
    if first is None:
        return None
    count = int(first["parts"])
    found = [_CODED.fullmatch(labels.get(name if n == 1 else f"{name}.{n}", "")) for n in range(1, count + 1)]
    parts = [f["text"] for f in found if f is not None and f["parts"] == first["parts"]]
    if len(parts) != count:
        return None
    text = "".join(parts)
    try:
        return base64.b32decode(text.upper() + "=" * (-len(text) % 8)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
