"""`[clouds]`: what all clouds have in common; each has a settings file of its own besides."""

from typing import Literal

from pydantic import Field, field_validator

from controlplane.fleet.networks.server_addresses import server_network
from controlplane.server.sections.section import Section
from providers.cost_tags import list_problem


class CloudsSection(Section):
    """Of the clouds."""

    server_addresses: tuple[str, ...] = Field(
        default=(),
        description="where servers dial brokers from, addresses or networks: firewalls let them in; empty: found",
    )
    cost_tags: tuple[str, ...] = Field(
        default=(),
        description="labels of specs, by key, that are put as cost tags on what is made in clouds; empty: none",
    )
    audits_at_once: int = Field(
        default=2, ge=0, le=32, description="audits of clouds for changes by hand that run together; `0`: none is made"
    )
    audit_every_s: float = Field(default=86_400.0, ge=600, le=2_592_000, description="seconds between two of a cluster")
    audit_poll_s: float = Field(default=10.0, ge=1, le=3600, description="seconds between two looks for audits due")
    dns_poll_s: float = Field(default=10.0, ge=0.1, le=3600, description="seconds between two looks at the names")
    enforce_disk: bool = Field(default=False, description="`local` cloud, root only: disks of their true size")
    vm_network: Literal["loopback", "namespaces"] = Field(
        default="loopback", description="`local` cloud: `namespaces` gives each VM a network that can be split; as root"
    )

    @field_validator("server_addresses")
    @classmethod
    def _dials_from_there(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            server_network(place)
        return places

    @field_validator("cost_tags")
    @classmethod
    def _cost_tags(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if problem := list_problem(keys):
            raise ValueError(problem)
        return keys
