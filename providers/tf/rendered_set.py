"""A rendered set by its targets (`instance/b-0.g1`): what is in it, some of it, two of them as one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from providers.base import Resources


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


ItemT = TypeVar("ItemT", bound=_Keyed)


def targets_of(resources: Resources) -> frozenset[str]:
    """`<resource>/<key>` of everything in it."""
    return frozenset(
        {
            *_named("instance", resources.instances),
            *_named("volume", resources.volumes),
            *_named("attachment", resources.attachments),
            *_named("address", resources.addresses),
            *_named("binding", resources.bindings),
        }
    )


def only(resources: Resources, targets: frozenset[str]) -> Resources:
    """What of it is among `targets`."""

    def kept(word: str, items: tuple[ItemT, ...]) -> tuple[ItemT, ...]:
        return tuple(item for item in items if f"{word}/{item.key}" in targets)

    return replace(
        resources,
        instances=kept("instance", resources.instances),
        volumes=kept("volume", resources.volumes),
        attachments=kept("attachment", resources.attachments),
        addresses=kept("address", resources.addresses),
        bindings=kept("binding", resources.bindings),
    )


def merged(one: Resources, other: Resources) -> Resources:
    """Everything of both sets of one cluster and place; what both have is as the first has it."""

    def both(first: tuple[ItemT, ...], second: tuple[ItemT, ...]) -> tuple[ItemT, ...]:
        found = {item.key: item for item in (*second, *first)}
        return tuple(found[key] for key in sorted(found))

    return replace(
        one,
        instances=both(one.instances, other.instances),
        volumes=both(one.volumes, other.volumes),
        attachments=both(one.attachments, other.attachments),
        addresses=both(one.addresses, other.addresses),
        bindings=both(one.bindings, other.bindings),
    )


def _named(word: str, items: Iterable[_Keyed]) -> Iterable[str]:
    return (f"{word}/{item.key}" for item in items)
