"""The drain that a world's cluster has in hand."""

from controlplane.cluster.views.drains import DrainView
from tests.sim.world import World


def drain_of(world: World) -> DrainView:
    """Of a cluster that has one in hand."""
    drain = world.view().moves.drain
    assert drain is not None
    return drain


def is_copying(world: World) -> bool:
    """Whether a drain is in hand and has begun its first batch."""
    drain = world.view().moves.drain
    return drain is not None and drain.progress.batch >= 0
