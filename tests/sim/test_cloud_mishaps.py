"""What goes wrong with an account, and what people do in its console, in the middle of the main job: each heals or ends
in a clear condition, nothing is destroyed, and in the end every VM is there once.

On the fake of one cloud, read by its own inventory code; what an API that is down or credentials that are over answer
is modelled here (each cloud's own words for it are in `tests/contract`).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from controlplane.cluster.commands import ReplaceNode
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.lookups import NOTHING
from controlplane.commands.deciders.nodes import replacement_asked
from controlplane.converger.situation.observation import InventorySeen
from events import facts
from providers.base import TerraformRun
from providers.errors import AuthFailed, CloudUnavailable, ProviderError, QuotaExceeded
from tests.builders import a_document
from tests.fakes.clouds.hetzner_hands import HetznerHarness, hetzner_harness
from tests.fakes.resources import instance, resources
from tests.sim.cloudlisting import Hands
from tests.sim.cloudmachines import CloudMachines, Unit
from tests.sim.cloudstate import ModelState
from tests.sim.cloudworld import CloudWorld, no_foreign_vms, nothing_lost, spec_in
from tests.sim.machines import Machines
from tests.sim.world import UID, World

CLOUD = "hetzner"
TEN_MINUTES = 600


class RefusingMachines(CloudMachines):
    """An account that answers everything with `refusal`, and has room for `quota` VMs."""

    refusal: ProviderError | None = None
    quota: int | None = None

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        if self.refusal is not None:
            raise self.refusal
        return super().seen(view, newer_than=newer_than)

    def apply(self, run: TerraformRun, *, changes: int | None = None) -> None:
        if self.refusal is not None:
            raise self.refusal
        super().apply(run, changes=changes)

    def _refused(self, run: TerraformRun, unit: Unit) -> ProviderError | None:
        is_vm = (unit.verb, unit.word) == ("create", "instance")
        if is_vm and self.quota is not None and len(self.there()) >= self.quota:
            return QuotaExceeded(f"the account may have {self.quota} VMs")
        return super()._refused(run, unit)

    def there(self) -> set[str]:
        """Ids of all VMs in the account, by the cloud's own word."""
        return {i.id for i in self.clouds[CLOUD].changed().instances}


class MishapWorld(CloudWorld):
    machines: RefusingMachines

    def make_machines(self) -> Machines:
        made = RefusingMachines(self.kafka, self.latest, self.clock, self._hands)
        made.random = self.random
        return made

    @property
    def hands(self) -> Mapping[str, Hands]:
        return self._hands

    def told(self, condition: str) -> ConditionView:
        return self.view().conditions[condition]

    def roll(self) -> None:
        self.declare(a_document(**{**spec_in(self.hands), "version": "4.2.0"}))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MishapWorld]:
    """A cluster that is born, and holds data."""
    with ExitStack() as stack:
        hands: dict[str, Hands] = {CLOUD: stack.enter_context(hetzner_harness(tmp_path, monkeypatch))}
        made = MishapWorld(hands, seed=11)
        made.declare(a_document(**spec_in(hands)))
        made.converge(ticks=300)
        made.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
        yield made


def surging(world: World) -> bool:
    return any(intent.kind == "surge" for intent in world.view().intents.values())


def draining(world: World) -> bool:
    return world.view().moves.drain is not None


def whole(world: MishapWorld) -> None:
    """It gets to where it was going, and nothing is there twice, beside it or no more."""
    world.converge(ticks=2000)
    nothing_lost(world)
    no_foreign_vms(world)


DOWN = CloudUnavailable("sim: the API is down")
WRONG = AuthFailed("sim: the credentials are of another account")


@pytest.mark.parametrize(
    ("moment", "refusal"),
    [
        pytest.param(surging, DOWN, id="down, surging"),
        pytest.param(draining, WRONG, id="wrong credentials, draining"),
        # Each moment and each refusal is above.
        pytest.param(draining, DOWN, id="down, draining", marks=pytest.mark.soak),
        pytest.param(surging, WRONG, id="wrong credentials, surging", marks=pytest.mark.soak),
    ],
)
def test_an_account_that_says_no_for_ten_minutes_in_the_middle_of_a_roll_costs_nothing(
    world: MishapWorld, moment: Callable[[World], bool], refusal: ProviderError
) -> None:
    world.roll()
    world.run(until=moment, ticks=120)
    before = world.machines.there()
    world.machines.refusal = refusal
    for _ in range(TEN_MINUTES):
        world.tick()
    assert before <= world.machines.there(), "nothing is destroyed on no answer"
    assert len(world.machines.there() - before) <= 1, "of the run that was under way"
    assert not world.is_converged()
    blocked = world.told("Blocked")
    assert blocked.status
    assert str(refusal) in blocked.message or "sim:" in world.sentence()
    world.machines.refusal = None
    world.person(facts.ClusterResumed("the account answers again"))
    whole(world)


def test_a_quota_that_is_reached_at_the_second_vm_keeps_the_first_and_waits_for_a_person(world: MishapWorld) -> None:
    before = world.machines.there()
    world.machines.quota = len(before) + 1
    six = {**spec_in(world.hands), "brokers": 6}
    world.declare(a_document(**six))
    world.run(until=lambda w: "Blocked" in w.view().conditions and w.view().conditions["Blocked"].status, ticks=200)
    blocked = world.told("Blocked")
    assert blocked.reason == "RunRefused"
    assert f"the account may have {world.machines.quota} VMs" in blocked.message
    made = world.machines.there() - before
    assert len(made) == 1
    for _ in range(60):
        world.tick()
    assert world.machines.there() == before | made, "it is not tried again by itself, and the first is not taken away"
    world.machines.quota = None
    world.person(facts.ClusterResumed("the quota is raised"))
    whole(world)
    assert made <= world.machines.there()


def test_a_vm_somebody_made_with_our_tags_is_told_and_left_alone_through_a_roll(world: MishapWorld) -> None:
    hands = world.hands[CLOUD]
    assert isinstance(hands, HetznerHarness)
    hands.create(resources(instance("brokers-a-7"), uid=UID))
    strange = hands.id_of("brokers-a-7.g1")
    world.machines.clouds[CLOUD].is_stale = True
    world.run(until=lambda w: "Orphans" in w.view().conditions, ticks=30)
    told = world.told("Orphans")
    assert (told.status, told.reason) == (True, "OrphanFound")
    assert f"{strange} as brokers-a-7.g1" in told.message
    world.roll()
    world.converge(ticks=2000)
    assert strange in world.machines.there()
    assert world.told("Orphans").status
    hands.power_cut(strange)
    world.machines.clouds[CLOUD].is_stale = True
    world.run(until=lambda w: not w.view().conditions["Orphans"].status, ticks=30)
    whole(world)


def test_a_volume_somebody_deleted_stops_runs_by_its_name_until_its_node_is_given_a_new_disk(
    world: MishapWorld,
) -> None:
    """Nothing makes it anew by itself: which disk a broker should have is known, what was on it is not."""
    victim, volume = delete_a_volume(world)
    before = world.machines.there()
    world.roll()
    world.run(until=lambda w: "Blocked" in w.view().conditions and w.view().conditions["Blocked"].status, ticks=200)
    for _ in range(60):
        world.tick()
    blocked = world.told("Blocked")
    assert blocked.reason == "RunRefused"
    assert f"does not list {volume}: if it is gone, {victim.node} needs a new disk" in blocked.message
    assert world.machines.there() == before
    asked = ReplaceNode(name="orders", actor="person:a", command_id="c", reason="", node=victim.node, new_disk=True)
    given_up = replacement_asked(world.view(), asked, NOTHING).fact
    assert isinstance(given_up, facts.NodeReplaceRequested)
    world.person(given_up)
    whole(world)
    assert volume not in {v.key for i in world.view().alive() for v in i.planned.volumes}


def test_a_broker_whose_volume_somebody_deleted_is_cured_like_any_that_lost_its_disk(world: MishapWorld) -> None:
    victim, volume = delete_a_volume(world)
    world.machines.become_unhealthy(victim.key, "log_dir_failed", lasts=True)
    world.run(until=lambda w: victim.key not in {i.key for i in w.view().alive()}, ticks=300)
    whole(world)
    assert volume not in {v.key for i in world.view().alive() for v in i.planned.volumes}


def delete_a_volume(world: MishapWorld) -> tuple[InstanceView, str]:
    """Of the first broker, in the cloud's console."""
    victim = world.view().brokers()[0]
    (volume,) = (v.key for v in victim.planned.volumes)
    hands = world.hands[CLOUD]
    assert isinstance(hands, HetznerHarness)
    number = hands._volume(volume, UID)
    hands._do("POST", f"volumes/{number}/actions/detach")
    hands._do("DELETE", f"volumes/{number}")
    world.machines.clouds[CLOUD].is_stale = True
    return victim, volume


@pytest.mark.parametrize("what", ["lost", "older"])
def test_a_state_that_is_lost_or_older_than_reality_makes_no_vm_twice(world: MishapWorld, what: str) -> None:
    born = world.machines.pushed[CLOUD]
    world.roll()
    world.run(until=draining, ticks=200)
    assert world.machines.pushed[CLOUD].held.keys() - born.held.keys(), "the surge is in the state that is taken away"
    world.machines.pushed[CLOUD] = replace(born) if what == "older" else ModelState(CLOUD)
    world.machines.states[str(world.hands[CLOUD].place)] = set(world.machines.pushed[CLOUD].held)
    before = world.machines.there()
    whole(world)
    assert world.machines.imports >= 1
    assert before & world.machines.there(), "not all of them are new"
