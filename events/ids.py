"""Identifiers. Everything that must survive a replay is derived, never drawn: the same intent has the same id twice."""

import base64
import uuid
from typing import NewType

ClusterUid = NewType("ClusterUid", str)
NodeName = NewType("NodeName", str)
IntentId = NewType("IntentId", str)
Epoch = NewType("Epoch", int)

_NAMESPACE = uuid.UUID("6f2e1f5a-6d35-4f0c-9c5e-0b5f6b1d2a41")


def new_cluster_uid() -> ClusterUid:
    """A fresh uid for a cluster declared for the first time. The only random id in the house."""
    return ClusterUid(uuid.uuid4().hex)


def derived_id(*parts: str) -> str:
    """A UUID (32 hex digits) that depends on the parts alone."""
    return uuid.uuid5(_NAMESPACE, "\x1f".join(parts)).hex


def intent_id(cluster: ClusterUid, kind: str, subject: str, attempt: int) -> IntentId:
    """Id of one intent: the same decision taken twice names the same intent."""
    return IntentId(derived_id("intent", cluster, kind, subject, str(attempt)))


def kafka_uuid(*parts: str) -> str:
    """A Kafka-style uuid (url-safe base64 of 16 bytes, no padding), derived from the parts.

    Kafka's command line tools choke on ids that begin with a dash, so the first byte's top bits are kept clear.
    """
    raw = bytearray(uuid.uuid5(_NAMESPACE, "\x1f".join(parts)).bytes)
    raw[0] &= 0x7F
    return base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode()
