"""The encrypted network between the nodes of a cluster: whose keys are whose."""

from dataclasses import dataclass

from events.registry import fact


@fact("overlay.key_reported", schema=1)
@dataclass(frozen=True, slots=True)
class OverlayKeyReported:
    """This VM's agent has made a key for that epoch, and told its public half (base64). Once for each VM and epoch."""

    key: str
    epoch: int
    public_key: str


@fact("overlay.public_addresses_seen", schema=1)
@dataclass(frozen=True, slots=True)
class PublicAddressesSeen:
    """This VM runs, and its cloud tells other addresses of the internet for it than before: IPv4, then IPv6; none where
    it has lost what it had, as one that was stopped in between may have."""

    key: str
    addresses: tuple[str, ...]
