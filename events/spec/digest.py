"""A short name for everything that is fixed for the life of an instance: another digest means another VM.

Made from the fields of class *static* and from nothing else, so it agrees with the differ by construction. A field at
its default is left out: a release that adds a field, with a default that means "as before", rolls no fleet.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from events.spec.fields import FieldClass, Part, field_class, fields_of, is_listed, part_type
from events.spec.model import KafkaClusterDocument, PlaceSpec
from events.spec.settings import service_settings

__all__ = ["digest_of", "digest_with_disk", "instance_digest", "service_settings", "static_inputs"]

DIGEST_LENGTH = 12


def instance_digest(document: KafkaClusterDocument, pool_name: str) -> str:
    """Digest of the static inputs of one pool's instances: 12 hex digits. Raises `LookupError` for an unknown pool."""
    return digest_of(static_inputs(document, pool_name))


def digest_of(inputs: Mapping[str, Any]) -> str:
    """Digest of what `static_inputs` gave."""
    canonical = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGEST_LENGTH]


def digest_with_disk(inputs: Mapping[str, Any], size_gib: int) -> str:
    """The same, had the disk of the pool another size: a disk may grow under an instance that stays."""
    return digest_of({**inputs, "pool.disk.sizeGib": size_gib})


def static_inputs(document: KafkaClusterDocument, pool_name: str) -> dict[str, Any]:
    """Path -> value of every static field that differs from its default: what the digest is made of, for people."""
    pool = document.spec.pool(pool_name)
    inputs = dict(_static_leaves(document, ""))
    inputs.update(_static_leaves(pool, "pool"))
    return inputs


def _static_leaves(part: Part, path: str) -> Iterator[tuple[str, Any]]:
    for name, key, is_static, default in _fields_that_matter(type(part)):
        value = getattr(part, name)
        here = f"{path}.{key}" if path else key
        if isinstance(value, Part):
            yield from _static_leaves(value, here)
        elif is_static and value != default:
            yield here, list(value) if isinstance(value, tuple) else value


@cache
def _fields_that_matter(model: type[Part]) -> tuple[tuple[str, str, bool, Any], ...]:
    """(python name, YAML key, whether it is static, its default) of a part's fields. The models never change."""
    return tuple(
        (name, key, field_class(info) is FieldClass.STATIC, _default(info))
        for name, key, info in fields_of(model)
        # Of the lists of parts only the pool in question concerns an instance.
        if not (is_listed(info.annotation) and part_type(info.annotation) is not None)
        # Where an instance lives is compared as it is: fleets from before places could change keep their digests.
        and part_type(info.annotation) is not PlaceSpec
    )


def _default(info: FieldInfo) -> object:
    """What no value equals where a field has to be given."""
    return object() if info.is_required() else info.get_default(call_default_factory=True)
