"""Several places per cluster: who lives where, one run and one state each, and nobody asked about another's VMs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import permutations

import pytest

from controlplane.cluster.fold import fold
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.places import by_place, left_places, place_of, places_of
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.confirmed_losses import LossesView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.commands.previews.placement_moves import pools_that_move
from controlplane.commands.previews.plan import preview
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.observation import NoPlaceAnswers, refused_in
from controlplane.converger.steps.clouds.intents import intent_step
from controlplane.converger.steps.rolls.departures import request_retire
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.inventory import ListedInventory
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Recorded
from events.ids import ClusterUid
from events.spec.conversion import to_data
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.rules import check_change
from planner.rollout.diff import Change
from providers.base import InstanceState, Listing, Place
from providers.errors import CloudUnavailable, NotPermitted, ProviderError
from providers.handover import Handover
from providers.tf.guard import check
from providers.tf.plan import Action, PlannedChange
from providers.tf.rendered_set import targets_of
from providers.tf.workspace import rendered
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_spec,
    a_view,
    an_instance,
    an_inventory,
)
from tests.changed_view import changed_view
from tests.fakes.cloud import FakeCloud

HERE, THERE = Place("local", "local-1"), Place("local", "local-2")
DOWN = CloudUnavailable("down")
MOVED = a_document(brokers_in="local-2")


def there(node: str = "brokers-a-0", generation: int = 1, phase: Phase = Phase.JOINED, **told: object) -> InstanceView:
    return replace(an_instance(node, generation, phase, **told), place=THERE)


def here(node: str = "brokers-a-0", generation: int = 1, phase: Phase = Phase.JOINED, **told: object) -> InstanceView:
    return replace(an_instance(node, generation, phase, **told), place=HERE)


def a_split_view(*more: InstanceView, **told: object) -> ClusterView:
    """Controllers here, brokers there."""
    brokers = [there(f"brokers-{zone}-0") for zone in "abc"]
    return a_view(*brokers, *more, **{"document": MOVED, **told})


def run_of(view: ClusterView, kind: str, *keys: str, gone: Sequence[str] = (), **told: object) -> object:
    intent = IntentView("i", kind, keys, BEFORE, **told)  # type: ignore[arg-type]
    return terraform_run(view, intent, installation_id="test", boot_data=lambda i: "", gone=frozenset(gone))


# --- who lives where ------------------------------------------------------------------------------------------------


def test_a_place_is_a_clusters_until_its_last_vm_there_is_retired() -> None:
    moving = a_view(here(), there("brokers-a-0", 2), document=MOVED)
    assert places_of(moving) == (HERE, THERE)
    last = a_view(here("brokers-b-0", 1, Phase.RETIRING), document=a_document(controllers=3))
    assert places_of(replace(last, instances={k: replace(i, place=THERE) for k, i in last.instances.items()})) == (
        HERE,
        THERE,
    )
    over = {k: replace(i, place=THERE, phase=Phase.RETIRED) for k, i in last.instances.items()}
    assert places_of(replace(last, instances=over)) == (HERE,)


def test_a_vm_stays_where_it_was_made_whatever_the_spec_says_now() -> None:
    view = a_view(here(), document=MOVED)
    assert place_of(view, view.instances["brokers-a-0.g1"]) == HERE
    assert [str(p) for p in by_place(view, view.alive())] == ["local/default/local-1", "local/default/local-2"]


def test_the_fold_gives_a_vm_the_place_its_pool_has_at_its_intent() -> None:
    surge = facts.SurgeRequested("i", (an_instance().planned, an_instance("brokers-b-0").planned), "new")
    elsewhere = facts.PlannedPlace("aws", "eu-west-1", "production", "default")
    odd = replace(an_instance("brokers-c-0", service_id=1005).planned, place=elsewhere)
    view = _folded(
        facts.ClusterDeclared("c0ffee", "orders", 1, to_data(a_document()), "test"),
        surge,
        facts.ClusterDeclared("c0ffee", "orders", 2, to_data(MOVED), "test"),
        facts.SurgeRequested("j", (odd,), "told where"),
    )
    assert view.history.unreadable == ""
    found = {key: str(place_of(view, i)) for key, i in view.instances.items()}
    assert found["brokers-a-0.g1"] == "local/default/local-1"
    assert found["brokers-c-0.g1"] == "aws/production/eu-west-1"


def test_a_place_counts_as_left_once_nothing_rolls_any_more() -> None:
    retired = here("brokers-a-0", 1, Phase.RETIRED, since=NOW)
    gone = [here(f"brokers-{z}-0", 1, Phase.RETIRED) for z in "bc"]
    controllers = [there(f"controllers-{z}-0") for z in "abc"]
    elsewhere = a_document(brokers_in="local-2")
    quorum = elsewhere.spec.pools[0]
    moved = quorum.model_copy(update={"place": elsewhere.spec.pools[1].place})
    spec = elsewhere.spec.model_copy(update={"pools": (moved, elsewhere.spec.pools[1])})
    document = elsewhere.model_copy(update={"spec": spec})
    view = a_view(retired, *gone, *controllers, *(there(f"brokers-{z}-0", 2) for z in "abc"), document=document)
    assert left_places(view) == {HERE: NOW}
    assert left_places(replace(view, generation=2)) == {}
    assert left_places(replace(view, requests=replace(view.requests, tombstone="asked for"))) == {}


# --- one run, and one state, each -----------------------------------------------------------------------------------


def test_a_run_holds_what_is_in_its_place_and_nothing_else() -> None:
    view = a_split_view(there("brokers-a-0", 2, Phase.REQUESTED))
    run = run_of(view, "surge", "brokers-a-0.g2", gone=["controllers-a-0.g1"])
    assert run.resources.place == THERE
    assert {i.node.split("-")[0] for i in run.resources.instances} == {"brokers"}
    assert run.resources.addresses == ()
    assert run.forget == frozenset(), "what is gone elsewhere is in another state"


def test_what_is_in_two_places_is_retired_by_two_runs() -> None:
    view = a_split_view()
    leaving = [view.instances["brokers-a-0.g1"], view.instances["controllers-a-0.g1"]]
    asked = request_retire(a_situation(view), leaving, "test").events
    assert [e.keys for e in asked] == [("controllers-a-0.g1",), ("brokers-a-0.g1",)]
    assert [e.volumes for e in asked] == [("controllers-a-0.data.v1",), ("brokers-a-0.data.v1",)]


def test_an_intent_of_one_place_does_not_wait_for_another_place() -> None:
    a = there("brokers-a-0", 2, Phase.REQUESTED)
    old = IntentView("old", "retire", ("controllers-a-0.g1",), BEFORE, failures=1, failed_at=NOW)
    new = IntentView("new", "surge", (a.key,), NOW)
    told = intent_step(a_situation(a_split_view(a, intents={"old": old, "new": new})))
    assert told is not None
    assert told.sentence == "Terraform: starting surge of brokers-a-0.g2"


def test_a_silent_place_proves_nothing() -> None:
    """The run has ended; before its place answers nobody says that the VM is missing, or gone."""
    leaving = there("brokers-a-0", 1, Phase.RETIRING)
    view = a_split_view(leaving, intents={"i": IntentView("i", "retire", (leaving.key,), BEFORE)})
    job = {"i.0": JobSeen("succeeded", ended_at=BEFORE)}
    silent = replace(an_inventory(view, gone=[leaving.key]), silent={str(THERE): DOWN})
    told = intent_step(a_situation(view, inventory=silent, jobs=job))
    assert told is not None
    assert told.wait is not None
    assert told.sentence.endswith("local/default/local-2 does not answer: down")
    heard = intent_step(a_situation(view, inventory=replace(silent, silent={str(HERE): DOWN}), jobs=job))
    assert heard is not None
    assert [type(e).__name__ for e in heard.events] == ["RetireCompleted"]


def test_two_racks_of_one_name_in_two_places_burn_down_apart() -> None:
    """All of one region is gone, says its listing: not believed, though the racks' names live on in the other one."""
    view = a_split_view()
    lost = [f"brokers-{z}-0.g1" for z in "abc"]
    told = decide(a_situation(view, inventory=an_inventory(view, gone=lost)))
    assert [type(e).__name__ for e in told.events] == ["LossesDoubted"]
    racks = tuple(f"{zone} of local/default/local-2" for zone in "abc")
    doubted = changed_view(view, losses=LossesView(tuple(lost), racks, NOW))
    told = decide(a_situation(doubted, inventory=an_inventory(view, gone=lost)))
    assert told.wait is not None
    assert told.wait.reason == "ListingLostRacks"
    assert "a of local/default/local-2" in told.sentence


# --- what clouds are asked ------------------------------------------------------------------------------------------


@dataclass
class AskedCloud(FakeCloud):
    """Remembers whom it was asked about, and where; `mute` regions do not answer."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    mute: dict[str, ProviderError] = field(default_factory=dict)

    def list_place(self, place: Place) -> Listing:
        if place.region in self.mute:
            raise self.mute[place.region]
        return FakeCloud.list_place(self, place)

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        self.asked += [(place.region, vm) for vm in instances]
        return FakeCloud.describe(self, place, instances)

    def terminate(self, place: Place, instance: str) -> None:
        self.ended.append((place.region, instance))
        FakeCloud.terminate(self, place, instance)


def _sky(view: ClusterView) -> tuple[AskedCloud, ListedInventory, ClusterView]:
    """A cloud in which the view's VMs stand, each where it lives."""
    cloud = AskedCloud(now=lambda: NOW)
    wanted = {k: replace(i, phase=Phase.REQUESTED, cloud_id="") for k, i in view.instances.items()}
    born = replace(view, instances=wanted)
    for number, there_ in enumerate(by_place(born, born.alive()).values()):
        intent = IntentView(f"birth-{number}", "surge", tuple(i.key for i in there_), BEFORE)
        cloud.apply(terraform_run(born, intent, installation_id="test", boot_data=lambda i: "", gone=frozenset()))
    known = {k: replace(i, cloud_id=f"{view.uid}/{k}") for k, i in view.instances.items()}
    clock = [NOW]
    inventory = ListedInventory(lambda _name: cloud, lambda: clock.__setitem__(0, clock[0] + timedelta(9)) or clock[0])
    return cloud, inventory, replace(view, instances=known)


def test_each_cloud_is_asked_about_its_own_vms_alone() -> None:
    cloud, inventory, view = _sky(a_split_view())
    vm = f"{view.uid}/brokers-a-0.g1"
    cloud.terminate(THERE, vm)
    seen = inventory.seen(view)
    assert seen.gone == {"brokers-a-0.g1"}
    assert cloud.asked == [("local-2", vm)], "no other place may say 404 for it"
    cloud.ended.clear()
    inventory.terminate(view, f"{view.uid}/controllers-a-0.g1")
    assert cloud.ended == [("local-1", f"{view.uid}/controllers-a-0.g1")]


def test_a_place_that_does_not_answer_leaves_the_others_known() -> None:
    cloud, inventory, view = _sky(a_split_view())
    cloud.mute["local-2"] = DOWN
    seen = inventory.seen(view)
    assert {k.split("-")[0] for k in seen.instances} == {"controllers"}
    assert (seen.gone, seen.silent) == (frozenset(), {"local/default/local-2": DOWN})
    assert (seen.silence(THERE), seen.refused) == ("local/default/local-2 does not answer: down", {})
    cloud.mute["local-1"] = DOWN
    with pytest.raises(NoPlaceAnswers) as told:
        inventory.seen(view)
    assert str(told.value) == "local/default/local-1: down; local/default/local-2: down"


def test_where_no_place_permits_a_listing_each_is_told_in_its_own_words() -> None:
    """Those of the last one were told of both, or of none."""
    cloud, inventory, view = _sky(a_split_view())
    cloud.mute["local-1"] = NotPermitted("no policy allows it", "List")
    cloud.mute["local-2"] = NotPermitted("another no", "Describe")
    with pytest.raises(NoPlaceAnswers) as told:
        inventory.seen(view)
    assert refused_in(told.value.silent) == {
        "local/default/local-1": "List is not allowed: no policy allows it",
        "local/default/local-2": "Describe is not allowed: another no",
    }


def test_a_place_that_does_not_permit_a_listing_is_told_apart_from_one_that_does_not_answer() -> None:
    cloud, inventory, view = _sky(a_split_view())
    cloud.mute["local-2"] = NotPermitted("no policy allows it", "List")
    seen = inventory.seen(view)
    assert seen.refused == {"local/default/local-2": "List is not allowed: no policy allows it"}
    assert seen.silence(THERE)
    assert seen.let_in_since.keys() == {"local/default/local-1"}


# --- a pool that moves ----------------------------------------------------------------------------------------------


def test_a_plan_tells_where_a_pool_goes_and_what_is_copied() -> None:
    view = a_view(*(here(f"brokers-{z}-0") for z in "abc"))
    size = 3 * 1024**3
    found = preview(view, MOVED, snapshot=a_snapshot(a_partition("orders-0", size_bytes=size)))
    (move,) = found.moves
    assert move.startswith(
        "pool brokers leaves local/default/local-1 for local/default/local-2: 3 brokers; about 9.0 GiB"
    )
    assert [(c.path, c.field_class) for c in found.changes] == [("spec.pools[brokers].place.region", "static")]
    assert preview(view, a_document(), snapshot=None).moves == ()
    assert "an unknown amount" in pools_that_move(view, MOVED, found.rollout, None)[0]


def test_a_move_takes_no_disk_along() -> None:
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    view = a_view(*(here(f"brokers-{z}-0") for z in "abc"), document=a_document(**reattach, brokers_in="local-2"))
    view = changed_view(view, generation=2, recycling=2)
    (surge,) = decide(a_situation(view)).events
    (planned,) = surge.instances
    assert (planned.handover, planned.service_id, planned.volumes[0].version) == (False, 1100, 2)


def test_a_dead_newcomers_successor_takes_nothing_from_the_broker_it_was_to_replace() -> None:
    """Two ids on one node: the old one here serves on, the new one there is lost and gets its next VM there."""
    lost = there("brokers-a-0", 2, service_id=1010, lost_at=BEFORE)
    successor = there("brokers-a-0", 3, Phase.LAUNCHED, service_id=1010, handover=True, volumes=lost.planned.volumes)
    view = a_view(here("brokers-a-0"), lost, successor, document=MOVED, generation=2, recycling=2)
    told = handover_step(a_situation(view, reports={successor.key: a_report(successor, "")}))
    assert told is not None
    assert [e.keys for e in told.events] == [(lost.key,)]
    assert not view.hands_over(view.instances["brokers-a-0.g1"])


CLOUDS = {
    "aws": ("eu-west-1", "eu-west-1a, eu-west-1b, eu-west-1c"),
    "google": ("europe-west1", "europe-west1-b, europe-west1-c, europe-west1-d"),
    "azure": ("westeurope", "westeurope-1, westeurope-2, westeurope-3"),
    "digitalocean": ("nyc3", "nyc3-a, nyc3-b, nyc3-c"),
    "upcloud": ("fi-hel1", "fi-hel1-a, fi-hel1-b, fi-hel1-c"),
    "hetzner": ("eu-central", "fsn1, nbg1, hel1"),
}


WAYS = {
    **dict.fromkeys(("aws", "hetzner"), Handover.REBIND),
    **dict.fromkeys(("google", "azure", "upcloud"), Handover.DELETE_FIRST),
    "digitalocean": Handover.NONE,
}
"""As the clouds declare it (docs/clouds.md)."""


@pytest.mark.parametrize(("origin", "target"), list(permutations(CLOUDS, 2)))
def test_brokers_move_by_plan_from_each_cloud_to_each_other(origin: str, target: str) -> None:
    """Accepted, told in the plan, made there, emptied and retired here, each run in a state of its own."""
    before, after = _on(origin, origin), _on(origin, target)
    assert [p for p in check_change(before, after, data_bytes_per_pool=None) if p.is_error] == []
    view = _born_as(before)
    assert len(preview(view, after, snapshot=None).moves) == 1
    view = changed_view(view, document=after, generation=2, recycling=2)
    changes = {c.node: c.change for c in pending_changes(view) if c.change is not Change.KEEP}
    assert sorted(changes.values()) == [Change.CREATE] * 3 + [Change.REMOVE] * 3
    (surge,) = decide(a_situation(view)).events
    planned = {
        p.key: InstanceView(p, Phase.REQUESTED, NOW, surge.intent, NOW, _place_of(after, p.pool))
        for p in surge.instances
    }
    moving = replace(view, instances={**view.instances, **planned})
    assert [p.cloud for p in places_of(moving)] == sorted({origin, target})
    _refused_by_no_guard(moving, IntentView(surge.intent, "surge", tuple(planned), NOW), before=view, place=target)
    old = [i for i in moving.brokers() if i.key not in planned]
    (retire,) = request_retire(a_situation(moving), old, "empty").events
    leaving = IntentView(retire.intent, "retire", retire.keys, NOW, retire.volumes)
    _refused_by_no_guard(moving, leaving, before=moving, place=origin)
    gone = {k: replace(i, phase=Phase.RETIRED) if k in retire.keys else i for k, i in moving.instances.items()}
    assert [p.cloud for p in places_of(replace(moving, instances=gone))] == sorted({origin, target})
    assert {i.place.cloud for i in gone.values() if i.place and i.phase is not Phase.RETIRED and i.is_broker} == {
        target
    }


@pytest.mark.parametrize(("origin", "target"), list(permutations(CLOUDS, 2)))
def test_controllers_move_by_plan_from_each_cloud_to_each_other(origin: str, target: str) -> None:
    """Each by another node of its id, with a disk there, and an address where that cloud lets nodes own one."""
    before, after = _on(origin, origin), _on(target, origin)
    assert [p for p in check_change(before, after, data_bytes_per_pool=None) if p.is_error] == []
    view = _born_as(before)
    (told,) = preview(view, after, snapshot=None).moves
    assert "3 controllers, one at a time, under the same ids" in told
    view = changed_view(view, document=after, generation=2, recycling=2)
    changes = [c for c in pending_changes(view) if c.change is not Change.KEEP]
    assert [c.change for c in changes] == [Change.REPLACE] * 3
    (surge,) = decide(a_situation(view, handovers=WAYS)).events
    (planned,) = surge.instances
    old = view.instances[planned.relieves]
    assert (planned.service_id, planned.vm_address) == (old.service_id, WAYS[target] is Handover.NONE)
    successor = InstanceView(
        planned, Phase.REQUESTED, NOW, surge.intent, NOW, _place_of(after, planned.pool), bound=False
    )
    moving = replace(view, instances={**view.instances, successor.key: successor})
    asked = IntentView(surge.intent, "surge", (successor.key,), NOW)
    _refused_by_no_guard(moving, asked, before=view, place=target, of="controllers")
    over = {
        old.key: replace(old, phase=Phase.RETIRING),
        successor.key: replace(successor, phase=Phase.JOINED, bound=True),
    }
    moved = replace(moving, instances={**moving.instances, **over})
    leaving = IntentView("j", "retire", (old.key,), NOW, tuple(v.key for v in old.planned.volumes))
    _refused_by_no_guard(moved, leaving, before=moved, place=origin, of="controllers")


def _refused_by_no_guard(
    view: ClusterView, intent: IntentView, *, before: ClusterView, place: str, of: str = "brokers"
) -> None:
    """What Terraform would change is exactly what the run may; the cloud of its place is the one that is asked."""
    run = terraform_run(view, intent, installation_id="test", boot_data=lambda i: "", gone=frozenset())
    assert run.resources.place.cloud == place
    wanted = targets_of(rendered(run))
    state = (wanted - run.creates) | run.deletes
    assert all(t.split("/")[1].startswith(of) for t in run.creates | run.deletes)
    changes = [PlannedChange(t, t, Action.CREATE) for t in wanted - state]
    changes += [PlannedChange(t, t, Action.DELETE) for t in state - wanted]
    check(tuple(changes), run)
    assert {t for t in state if t.startswith("instance/")} == {
        f"instance/{i.key}" for i in before.alive() if i.place is not None and i.place.cloud == place
    }


def _on(quorum: str, brokers: str) -> KafkaClusterDocument:
    places = iter(
        f"place: {{cloud: {cloud}, region: {CLOUDS[cloud][0]}, route: backbone, zones: [{CLOUDS[cloud][1]}]}}"
        for cloud in (quorum, brokers)
    )
    plain = "place: {cloud: local, region: local-1, zones: [a, b, c]}"
    text = a_spec()
    while plain in text:
        text = text.replace(plain, next(places), 1)
    result = load_documents(text, file="orders.yaml")
    assert result.ok, result.problems
    return result.documents[0]


def _born_as(document: KafkaClusterDocument) -> ClusterView:
    """The cluster as it stands after its birth from this document."""
    empty = changed_view(
        a_view(), instances={}, document=document, next_broker_id=1000, generation=1, controller_ids={}
    )
    surges = decide(a_situation(changed_view(empty, recycling=1, converged=0), handovers=WAYS)).events
    stands = {
        p.key: InstanceView(p, Phase.JOINED, BEFORE, surge.intent, BEFORE, _place_of(document, p.pool), f"vm-{p.key}")
        for surge in surges
        for p in surge.instances
    }
    return changed_view(
        empty, instances=stands, next_broker_id=1100, quorum=replace(empty.quorum, controller_ids=_ids(stands))
    )


def _ids(stands: Mapping[str, InstanceView]) -> dict[str, int]:
    return {i.node: i.service_id for i in stands.values() if not i.is_broker}


def _place_of(document: KafkaClusterDocument, pool: str) -> Place:
    told = document.spec.pool(pool).place
    return Place(told.cloud, told.region, told.account, told.network)


def _folded(*told: object) -> ClusterView:
    stream = cluster_stream(ClusterUid("c0ffee"))
    events = enumerate(new_events(stream, 0, told), 1)
    origin = {"actor": "test", "cause": None, "command_id": None, "epoch": 0, "recorded_at": NOW}
    recorded = [Recorded(n, stream, n, e.event_id, e.type, e.schema, e.data, **origin) for n, e in events]
    return fold(empty_view("c0ffee"), recorded)
