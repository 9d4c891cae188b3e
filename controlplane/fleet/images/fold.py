"""The fold of the stream `images`: every revision there ever was. Pure and total, as that of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from events import codec, envelope, errors, facts, image_facts
from events.spec.releases import as_numbers

SECURITY = ("", "low", "high", "critical")
"""How bad what a revision cures is, from not at all to worst."""


def urgency(security: str) -> int:
    """0 for no flag, 3 for `critical`. Raises `ValueError` for a word that is none."""
    return SECURITY.index(security)


@dataclass(frozen=True, slots=True)
class Revision:
    """One published revision. `withdrawn` says why no cluster begins to roll to it, "" where it may be had."""

    fact: facts.ImagePublished
    at: datetime
    by: str
    withdrawn: str = ""

    @property
    def version(self) -> str:
        return self.fact.kafka_version

    @property
    def number(self) -> int:
        return self.fact.number

    @property
    def name(self) -> str:
        return image_facts.revision_name(self.version, self.number)

    @property
    def urgency(self) -> int:
        return urgency(self.fact.security)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All revisions by name. `unreadable` says why nothing new is chosen, "" when all was read."""

    version: int = 0
    revisions: Mapping[str, Revision] = field(default_factory=lambda: MappingProxyType({}))
    unreadable: str = ""

    def of(self, kafka_version: str) -> tuple[Revision, ...]:
        """Those of one Kafka version, the oldest first."""
        return tuple(sorted((r for r in self.revisions.values() if r.version == kafka_version), key=lambda r: r.number))

    def listed(self) -> tuple[Revision, ...]:
        """All, the newest version and revision first."""
        return tuple(sorted(self.revisions.values(), key=lambda r: (as_numbers(r.version), r.number), reverse=True))


def evolve(catalogue: Catalogue, recorded: envelope.Recorded) -> Catalogue:
    """The catalogue after one event; what cannot be placed makes it unreadable, and nothing new is chosen then."""
    if catalogue.unreadable:
        return replace(catalogue, version=recorded.version)
    try:
        revision = _after(catalogue, codec.decode(recorded), recorded)
    except (errors.EventsError, LookupError, ValueError) as error:
        reason = f"event {recorded.position} ({recorded.type}): {type(error).__name__}: {error}"
        return replace(catalogue, version=recorded.version, unreadable=reason)
    changed = MappingProxyType({**catalogue.revisions, revision.name: revision})
    return replace(catalogue, version=recorded.version, revisions=changed)


def _after(catalogue: Catalogue, event: object, recorded: envelope.Recorded) -> Revision:
    match event:
        case facts.ImagePublished():
            made = Revision(event, recorded.recorded_at, recorded.actor)
            if made.name in catalogue.revisions:
                raise ValueError(f"{made.name} was published before")
            urgency(event.security)
            return made
        case facts.ImageWithdrawn():
            old = catalogue.revisions[image_facts.revision_name(event.kafka_version, event.number)]
            return replace(old, withdrawn=event.reason or "withdrawn")
        case _:
            raise LookupError(f"no rule for event type {recorded.type}")
