"""Old documents stay readable for ever: each apiVersion knows how to become the next one.

Only the newest version has a model (the *storage version*). A function takes plain data of one version and returns
plain data of the next; chains are followed until the storage version is reached. Specs in files and specs inside old
events take the same road.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import API_VERSION, KafkaClusterDocument
from events.spec.presets import as_said

Data = dict[str, Any]
Upgrade = Callable[[Data], Data]


class UnknownApiVersion(Exception):
    """No chain of conversions leads from this version to the storage version. Refuse the document."""

    def __init__(self, api_version: object, known: tuple[str, ...]) -> None:
        super().__init__(f"apiVersion {api_version!r} is unknown; known: {', '.join(known)}")
        self.known = known


class Conversions:
    """The registry: from each apiVersion one step towards the storage version."""

    def __init__(self, storage_version: str) -> None:
        self._storage_version = storage_version
        self._steps: dict[str, tuple[str, Upgrade]] = {}

    def register(self, *, source: str, target: str, upgrade: Upgrade) -> None:
        """Adds the one step that leads away from `source`. Raises `ValueError` on a second one, or a loop."""
        if source in self._steps or source == self._storage_version:
            raise ValueError(f"{source} already has its way to {self._storage_version}")
        self._steps[source] = (target, upgrade)
        try:
            self._chain(source)
        except UnknownApiVersion:
            del self._steps[source]
            raise ValueError(f"{source} -> {target} does not lead to {self._storage_version}") from None

    @property
    def known(self) -> tuple[str, ...]:
        """Every apiVersion that can be read, the storage version first."""
        return (self._storage_version, *sorted(self._steps))

    def to_storage(self, data: Mapping[str, Any]) -> Data:
        """Plain data in the storage version; the input is left alone. Raises `UnknownApiVersion`."""
        current = deepcopy(dict(data))
        for target, upgrade in self._chain(current.get("apiVersion")):
            current = {**upgrade(current), "apiVersion": target}
        return current

    def _chain(self, source: Any) -> list[tuple[str, Upgrade]]:
        chain: list[tuple[str, Upgrade]] = []
        at = source
        while at != self._storage_version:
            step = self._steps.get(at) if isinstance(at, str) else None
            if step is None or len(chain) > len(self._steps):
                raise UnknownApiVersion(source, self.known)
            chain.append(step)
            at = step[0]
        return chain


CONVERSIONS = Conversions(API_VERSION)
"""The conversions of this release. `kedge/v1alpha1` is the first version, so it has none yet."""


def to_data(document: KafkaClusterDocument) -> Data:
    """JSON-safe data of a document, as events and answers carry it."""
    return document.model_dump(mode="json", by_alias=True)


def shortest_data(document: KafkaClusterDocument) -> Data:
    """The same for a file: defaults, and what the preset stands for, are left out, as an absent field means them."""
    data = document.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    data["spec"] = as_said(data["spec"], to_data(document)["spec"])
    return {"apiVersion": document.api_version, "kind": document.kind, **data}


def from_data(data: Mapping[str, Any], *, conversions: Conversions = CONVERSIONS) -> KafkaClusterDocument:
    """The document of data that `to_data` of this or any earlier release wrote.

    Raises `UnknownApiVersion`, and `pydantic.ValidationError` for data that never was a document.
    """
    return KafkaClusterDocument.model_validate(conversions.to_storage(data), by_alias=True, by_name=False)


def failover_from_data(data: Mapping[str, Any], *, conversions: Conversions = CONVERSIONS) -> KafkaFailoverDocument:
    """The same for a pair. Raises as `from_data`."""
    return KafkaFailoverDocument.model_validate(conversions.to_storage(data), by_alias=True, by_name=False)
