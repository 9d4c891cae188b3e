"""`[allow]`: where the server may call, and what it may read; what is not listed is refused."""

from functools import cached_property

from pydantic import Field, field_validator

from controlplane.runtime.egress import Allowed, Egress
from controlplane.server.sections.section import AbsolutePath, Section


class AllowSection(Section):
    """Of the places settings and specs may name."""

    calls: tuple[str, ...] = Field(
        default=(),
        description="hosts (`*.DOMAIN` too) and networks the server may call; empty: what the settings name",
    )
    brokers: tuple[str, ...] = Field(
        default=(),
        description="hosts (`*.DOMAIN` too) and networks where brokers of others may be; empty: any but this machine",
    )
    git_paths: tuple[AbsolutePath, ...] = Field(
        default=(), description="folders whose repositories may be bound by path"
    )

    @field_validator("calls", "brokers")
    @classmethod
    def _places_to_call(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            Allowed.of(place)
        return places

    @cached_property
    def brokers_allowed(self) -> tuple[Allowed, ...]:
        """Where brokers that others run may be."""
        return tuple(Allowed.of(place) for place in self.brokers)

    @property
    def egress(self) -> Egress:
        """Where the server may call."""
        return Egress(tuple(Allowed.of(place) for place in self.calls))
