"""What a spec that calls itself production does not stand: a warning each, as its author may know better."""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.model import Pool
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.settings import broker_count, zone_count

_ENOUGH = 3
"""Replicas of a partition, zones for them, and voters: one of three may always be away."""


def preset_risks(preset: str | None, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Too few brokers, zones or voters for anything of them to fail."""
    if preset != "production":
        return
    brokers, zones = broker_count(pools), zone_count(pools)
    voters = sum(pool.size for pool in pools if pool.is_quorum)
    if brokers < _ENOUGH:
        message = f"a production cluster with {brokers} broker{'s' * (brokers != 1)} serves no writes while one is away"
        yield where.problem(p.PRESET_RISK, ("spec", "preset"), message, "Have 3 brokers or more, or another preset.")
    elif zones < _ENOUGH:
        message = (
            f"a production cluster in {zones} zone{'s' * (zones != 1)} loses two of three replicas with one of them"
        )
        yield where.problem(p.PRESET_RISK, ("spec", "preset"), message, "Name 3 zones, or another preset.")
    if voters < _ENOUGH:
        message = "a production cluster with one voter stands still while that is away"
        yield where.problem(p.PRESET_RISK, ("spec", "preset"), message, "Write `size: 3` for the quorum's pool.")
