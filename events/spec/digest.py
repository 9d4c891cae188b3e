"""A short name for everything that is fixed for the life of an instance: another digest means another VM.

Made from the fields of class *static* and from nothing else, so it agrees with the differ by construction. A field at
its default is left out: a release that adds a field, with a default that means "as before", rolls no fleet.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from events.spec.fields import FieldClass, Part, field_class, fields_of, is_listed, part_type
from events.spec.model import KafkaClusterDocument
from events.spec.settings import service_settings

__all__ = ["instance_digest", "service_settings", "static_inputs"]

DIGEST_LENGTH = 12


def instance_digest(document: KafkaClusterDocument, pool_name: str) -> str:
    """Digest of the static inputs of one pool's instances: 12 hex digits. Raises `LookupError` for an unknown pool."""
    canonical = json.dumps(static_inputs(document, pool_name), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGEST_LENGTH]


def static_inputs(document: KafkaClusterDocument, pool_name: str) -> dict[str, Any]:
    """Path -> value of every static field that differs from its default: what the digest is made of, for people."""
    pool = document.spec.pool(pool_name)
    inputs = dict(_static_leaves(document, ""))
    inputs.update(_static_leaves(pool, "pool"))
    return inputs


def _static_leaves(part: Part, path: str) -> Iterator[tuple[str, Any]]:
    for name, key, info in fields_of(type(part)):
        value = getattr(part, name)
        here = f"{path}.{key}" if path else key
        if isinstance(value, Part):
            yield from _static_leaves(value, here)
        elif is_listed(info.annotation) and part_type(info.annotation) is not None:
            continue  # of the lists of parts only the pool in question concerns an instance
        elif field_class(info) is FieldClass.STATIC and (
            info.is_required() or value != info.get_default(call_default_factory=True)
        ):
            yield here, list(value) if isinstance(value, tuple) else value
