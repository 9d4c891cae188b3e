"""What a stand-in has to know of one type of resource: how it is made, read and deleted over HTTP."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]
"""Attributes and blocks by name, as in a configuration. A block is a list of such; one or None where single."""


class TroubleError(Exception):
    """What the real provider would say in its diagnostic. `made` is what exists nevertheless: it is kept as tainted."""

    def __init__(self, summary: str, detail: str = "", *, made: Values | None = None) -> None:
        super().__init__(summary)
        self.summary, self.detail, self.made = summary, detail, made


class Kind:
    """One type. Facts are attributes (and blocks) that the cloud told; what is not told stays as it was planned."""

    def create(self, wanted: Values) -> Values:
        """Facts of what was made, `id` among them. What nobody set is None. Raises `TroubleError`."""
        raise NotImplementedError

    def read(self, state: Values) -> Values | None:
        """Facts as they are now, None when it is gone. Raises `TroubleError`."""
        raise NotImplementedError

    def delete(self, state: Values) -> None:
        """Deletes it; one that is gone already is no trouble. Raises `TroubleError`."""
        raise NotImplementedError

    def update(self, state: Values, wanted: Values) -> Values:
        """Facts after a change in place. Only the types a module may change have one."""
        raise TroubleError("This stand-in changes nothing of that type in place.")

    def imported(self, given: str) -> Values:
        """Attributes that the id of an import tells; all others are read afterwards."""
        return {"id": given}


@dataclass(frozen=True)
class StandIn:
    """A provider that was configured: its types, and what happens when Terraform asks it to stop."""

    kinds: Mapping[str, Kind]
    stopping: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Rules:
    """What no schema document tells of a type: changes that need a new one, values that are not to be shown."""

    replaces: frozenset[str] = frozenset()
    sensitive: frozenset[str] = frozenset()
