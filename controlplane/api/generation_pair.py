"""A declaration as it was made, and two of them side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from controlplane.api.problems import ApiError
from controlplane.api.rollback import declarations
from controlplane.api.services import PortalServices
from controlplane.cluster.view import ClusterView
from events.envelope import Recorded
from events.spec.change import FieldChange, differences
from events.spec.conversion import from_data


@dataclass(frozen=True, slots=True)
class Pair:
    """Two generations, what differs between them, and every declaration there is, by generation."""

    old: int
    new: int
    declared: Mapping[int, Recorded]
    changes: Sequence[FieldChange]


def compared(services: PortalServices, view: ClusterView, old: int, new: int) -> Pair:
    """Two declarations by their generations; 0 for `new` is the last one, 0 for `old` the one before `new`.

    Raises ApiError 404 for one there is not, StoreUnavailable.
    """
    declared = declarations(services, view)
    new = new or max(declared, default=0)
    old = old or max((g for g in declared if g < new), default=new)
    before, after = (from_data(dict(_of(view, declared, g).data["document"])) for g in (old, new))
    return Pair(old, new, declared, differences(before, after))


def declaration_of(services: PortalServices, view: ClusterView, generation: int) -> Recorded:
    """The event that declared it. Raises ApiError 404, StoreUnavailable."""
    return _of(view, declarations(services, view), generation)


def spec_text(declared: Recorded) -> str:
    """The document of a declaration as YAML, with every field."""
    return yaml.safe_dump(dict(declared.data["document"]), sort_keys=False, allow_unicode=True)


def _of(view: ClusterView, declared: Mapping[int, Recorded], generation: int) -> Recorded:
    found = declared.get(generation)
    if found is None:
        raise ApiError(404, "generation-not-found", f"{view.name} has no generation {generation}")
    return found
