"""Names of topics as latest-value rows: a cluster's names, written when one comes or goes; and beside them their hash,
by which other servers, and this one after a start, see which of them to read.
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid

NAMES = "topic-names"
NAMES_HASH = "topic-names-hash"
"""Kind of the rows with the hashes alone: read for the whole fleet at once."""

_SUBJECT = "topics"
_MOST_BYTES = 64 * 1024 * 1024
"""Of one cluster's names: more is no list of topics."""


def hash_of(names: Iterable[str]) -> str:
    """Stands for the names, which come in order."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def keep_names(latest: LatestStore, uid: ClusterUid, names: tuple[str, ...], at: datetime) -> None:
    """Keeps what a look found, in one transaction. Raises StoreUnavailable."""
    packed = base64.b64encode(zlib.compress("\n".join(names).encode())).decode()
    values = {NAMES: {"names": packed}, NAMES_HASH: {"sha256": hash_of(names)}}
    latest.put_all([LatestValue(Subject(kind, uid, _SUBJECT), value, "kafka", at) for kind, value in values.items()])


def kept_hashes(latest: LatestStore) -> Mapping[ClusterUid, str]:
    """The hash of every cluster's names. Raises StoreUnavailable."""
    return {row.subject.cluster_uid: str(row.value.get("sha256", "")) for row in latest.of_kind(NAMES_HASH)}


def kept_names(latest: LatestStore, uid: ClusterUid) -> tuple[str, ...] | None:
    """The names of one cluster; None where there are none, or another release wrote them. Raises StoreUnavailable."""
    row = latest.get(Subject(NAMES, uid, _SUBJECT))
    if row is None:
        return None
    try:
        unpacking = zlib.decompressobj()
        packed = base64.b64decode(str(row.value["names"]), validate=True)
        text = unpacking.decompress(packed, _MOST_BYTES).decode()
    except (KeyError, ValueError, binascii.Error, zlib.error):
        return None  # the next look writes them anew
    if not unpacking.eof:
        return None
    return tuple(text.split("\n")) if text else ()
