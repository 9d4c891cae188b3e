"""The fold of the overlay between a cluster's nodes: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, change, frozen
from controlplane.cluster.view import ClusterView
from events import facts


def _key_reported(view: ClusterView, e: facts.OverlayKeyReported, at: datetime) -> ClusterView:
    """One that counts stays for its epoch: peers go by it, and who tells another one is somebody else."""
    if e.key not in view.instances:
        raise ValueError(f"instance {e.key} is not known")
    there = {i.key for i in view.alive()}
    kept = {key: keys for key, keys in view.vms.overlay_keys.items() if key in there}
    own = kept.get(e.key, {})
    if own.get(e.epoch, e.public_key) != e.public_key:
        raise ValueError(f"instance {e.key} has another key of epoch {e.epoch}: its peers know it by that")
    for key, keys in kept.items():
        if key != e.key and e.public_key in keys.values():
            raise ValueError(f"instance {key} has this key: what is sent to one would reach the other")
    reported = {**kept, e.key: frozen({**own, e.epoch: e.public_key})}
    return replace(view, vms=replace(view.vms, overlay_keys=frozen(reported)))


def _public_addresses_seen(view: ClusterView, e: facts.PublicAddressesSeen, at: datetime) -> ClusterView:
    instance = view.instances[e.key]
    return change(view, e.key, public=replace(instance.public, addresses=e.addresses))


RULES: Rules = {
    facts.OverlayKeyReported: _key_reported,
    facts.PublicAddressesSeen: _public_addresses_seen,
}
