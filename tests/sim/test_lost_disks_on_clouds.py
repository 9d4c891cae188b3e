"""A broker's VM is lost on each cloud's fake: by the cloud's own listing its disk is there, and free to pass on."""

from pathlib import Path

import pytest

from tests.builders import a_document
from tests.sim.cloudworld import CloudWorld, no_foreign_vms, nothing_lost, spec_in
from tests.sim.test_cloud_seeds import CLOUDS, SLOW, opened


@pytest.mark.parametrize("cloud", [*(c for c in CLOUDS if c != "aws"), SLOW])
def test_the_next_vm_gets_the_id_and_the_disk_of_a_lost_broker(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as hands:
        world = CloudWorld(hands, seed=1)
        world.declare(a_document(**spec_in(hands), healing="lostDisk: reattach"))
        world.converge(ticks=300)
        world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
        old = next(i for i in world.view().brokers())
        world.machines.power_cut(old.key)
        world.run(until=lambda w: not w.is_converged(), ticks=500)
        world.converge(ticks=900)
        new = next(i for i in world.view().brokers() if i.node == old.node)
        assert (new.planned.generation, new.service_id) == (2, old.service_id)
        assert new.planned.volumes == old.planned.volumes
        assert not [r for r in world.history() if r.type == "drain.requested"]
        nothing_lost(world)
        no_foreign_vms(world)
