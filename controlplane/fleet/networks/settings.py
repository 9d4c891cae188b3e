"""`[networks]` in the server's settings: the pool that networks of the whole fleet get their addresses from."""

from ipaddress import IPv4Network

from pydantic import BaseModel, ConfigDict, Field, model_validator

from controlplane.fleet.networks.decide import AddressPool

SMALLEST_PREFIX, LARGEST_PREFIX = 16, 22
"""What the modules of all clouds take: Hetzner's splits a network in two and each half again."""


class NetworkSettings(BaseModel):
    """One pool for all accounts and clouds, so that networks can be routed to one another one day."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pool: IPv4Network = Field(default=IPv4Network("10.64.0.0/10"))
    prefix: int = Field(default=20, ge=SMALLEST_PREFIX, le=LARGEST_PREFIX)
    """Length of each network that is made; those that stand keep theirs."""
    reserved: tuple[IPv4Network, ...] = ()
    """Parts of the pool that are yours: nothing of Kedge's is made there."""

    @model_validator(mode="after")
    def _fits(self) -> "NetworkSettings":
        if not self.pool.is_private:
            raise ValueError(f"pool {self.pool} is not a private range: VMs have private addresses only")
        if self.prefix < self.pool.prefixlen:
            raise ValueError(f"prefix /{self.prefix} is larger than the pool {self.pool}")
        return self

    def __str__(self) -> str:
        return f"{self.pool} in blocks of /{self.prefix}"

    @property
    def address_pool(self) -> AddressPool:
        return AddressPool(self.pool, self.prefix, self.reserved)
