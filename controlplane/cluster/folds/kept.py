"""What the folds of topics and of users share: things of a cluster that are declared by name, with what of them is
waited for and what is in trouble."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypeVar

from controlplane.cluster.views.topics import TopicsView
from controlplane.cluster.views.users import UsersView

_V = TypeVar("_V")
_T = TypeVar("_T", bound="Trouble")
KeptView = TypeVar("KeptView", TopicsView, UsersView)


class Trouble(Protocol):
    """Why one of them is not as declared; `reason` "" when that is over."""

    @property
    def name(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def message(self) -> str: ...


def known(noun: str, by_name: Mapping[str, _V], name: str) -> _V:
    """The declared one of that name. Raises ValueError."""
    found = by_name.get(name)
    if found is None:
        raise ValueError(f"the {noun} {name} was never declared")
    return found


def without(values: Mapping[str, _V], names: Iterable[str]) -> Mapping[str, _V]:
    gone = values.keys() & set(names)
    return frozen({k: v for k, v in values.items() if k not in gone}) if gone else values


def troubled(
    told: Mapping[str, _T], pending: frozenset[str], news: Iterable[_T]
) -> tuple[Mapping[str, _T], frozenset[str]]:
    """What is in trouble and what is waited for, after the news: trouble takes one out of what is waited for, the end
    of it puts it back."""
    troubles, waited = dict(told), set(pending)
    for trouble in news:
        if trouble.reason:
            troubles[trouble.name] = trouble
            waited.discard(trouble.name)
        else:
            troubles.pop(trouble.name, None)
            waited.add(trouble.name)
    return frozen(troubles), frozenset(waited)


def forgotten(kept: KeptView, name: str) -> KeptView:
    """Nothing is known of that one any more."""
    return replace(
        kept,
        by_name=without(kept.by_name, (name,)),
        troubles=without(kept.troubles, (name,)),
        pending=kept.pending - {name},
    )


def tried_again(kept: KeptView) -> KeptView:
    """A person lets what was in trouble be tried again at once."""
    return replace(kept, pending=kept.pending | kept.troubles.keys()) if kept.troubles else kept


def frozen(values: Mapping[str, _V]) -> Mapping[str, _V]:
    return values if isinstance(values, MappingProxyType) else MappingProxyType(dict(values))
