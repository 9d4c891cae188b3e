"""A volume the cloud does not list is left alone until its node is given up with its disk; then no run looks for it."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.commands import ReplaceNode
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.deciders.lookups import NOTHING
from controlplane.commands.deciders.nodes import replacement_asked
from controlplane.converger.questions.clouds.missing_volumes import given_up
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import StartRun
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.steps.clouds.intents import intent_step
from events import facts
from providers.errors import CloudUnavailable
from tests.builders import BEFORE, NOW, a_situation, a_view, an_instance, an_inventory
from tests.changed_view import changed_view

HOLDER = an_instance("brokers-a-0", 1)
SUCCESSOR = an_instance("brokers-a-0", 2, Phase.REQUESTED)
VOLUME = HOLDER.planned.volumes[0].key
REFUSED = IntentView(
    "i", "surge", (SUCCESSOR.key,), BEFORE, failures=1, tries=1, retryable=False, failed_at=NOW - timedelta(seconds=60)
)
REFUSED = replace(REFUSED, error=f"GuardRefused: the plan would create volume/{VOLUME}")


def _view(*, asked: ReplaceView | None = None) -> ClusterView:
    asks = MappingProxyType({HOLDER.key: asked} if asked is not None else {})
    return changed_view(a_view(HOLDER, SUCCESSOR, intents={"i": REFUSED}), to_replace=asks)


def _asked(**overrides: Any) -> ReplaceView:
    return ReplaceView(**{"reason": "its volume is gone", "new_disk": True, "requested_at": NOW, **overrides})


def _without(view: ClusterView) -> InventorySeen:
    seen = an_inventory(view)
    return replace(seen, volumes={k: v for k, v in seen.volumes.items() if k != VOLUME})


def _step(view: ClusterView, inventory: InventorySeen) -> Decision:
    decision = intent_step(a_situation(view, inventory=inventory))
    assert decision is not None
    return decision


def test_a_disk_that_is_given_up_and_not_listed_is_what_no_run_looks_for() -> None:
    view = _view(asked=_asked())
    assert given_up(view, _without(view)) == {VOLUME}


@pytest.mark.parametrize("asked", [None, _asked(new_disk=False), _asked(new_disk=False, disks=("other",))])
def test_a_disk_nobody_gave_up_is_not_forgotten_however_long_it_is_missing(asked: ReplaceView | None) -> None:
    view = _view(asked=asked)
    assert given_up(view, _without(view)) == frozenset()


def test_a_disk_that_is_listed_is_not_forgotten_though_it_is_given_up() -> None:
    view = _view(asked=_asked())
    assert given_up(view, an_inventory(view)) == frozenset()


def test_a_place_that_does_not_answer_says_nothing_of_its_volumes() -> None:
    view = _view(asked=_asked())
    silent = replace(_without(view), silent={str(places_of(view)[0]): CloudUnavailable("timed out")})
    assert given_up(view, silent) == frozenset()
    assert given_up(view, None) == frozenset()


def test_a_disk_another_vm_of_the_node_is_to_have_is_not_forgotten() -> None:
    taking = an_instance("brokers-a-0", 2, Phase.REQUESTED, handover=True, volumes=HOLDER.planned.volumes)
    view = replace(_view(asked=_asked()), instances=MappingProxyType({**_view().instances, taking.key: taking}))
    assert given_up(view, _without(view)) == frozenset()


def test_a_run_renders_and_makes_nothing_of_a_disk_that_is_given_up() -> None:
    view = _view(asked=_asked())
    run = terraform_run(
        view,
        REFUSED,
        installation_id="test",
        boot_data=lambda _: "",
        gone=frozenset(),
        given_up=given_up(view, _without(view)),
    )
    assert run.forget == {f"volume/{VOLUME}", f"attachment/{HOLDER.key}.data"}
    assert VOLUME not in {v.key for v in run.resources.volumes}
    assert VOLUME not in {a.volume for a in run.resources.attachments}
    assert HOLDER.key in {i.key for i in run.resources.instances}
    assert not run.forget & (run.creates | run.deletes)


def test_a_refusal_for_a_volume_that_is_not_listed_names_the_way_out() -> None:
    view = _view()
    wait = _step(view, _without(view)).wait
    assert wait is not None
    assert (wait.reason, wait.next_command) == ("RunRefused", "kedge replace orders --node brokers-a-0 --new-disk")
    listed = _step(view, an_inventory(view)).wait
    assert listed is not None
    assert listed.next_command == "kedge resume orders"


def test_what_was_refused_is_tried_again_once_a_disk_is_given_up_and_not_for_ever() -> None:
    view = _view(asked=_asked())
    assert _step(view, _without(view)).effects == (StartRun("i", "i.1"),)
    again = replace(REFUSED, failed_at=NOW + timedelta(seconds=1), failures=2, tries=2)
    refused = replace(view, intents=MappingProxyType({"i": again}))
    assert _step(refused, _without(view)).effects == ()


def test_a_person_gives_up_the_disk_of_the_vm_that_has_one_while_its_successor_cannot_be_made() -> None:
    asked = ReplaceNode(name="orders", actor="person:a", command_id="c", reason="", node=HOLDER.node, new_disk=True)
    fact = replacement_asked(_view(), asked, NOTHING).fact
    assert isinstance(fact, facts.NodeReplaceRequested)
    assert (fact.key, fact.new_disk) == (HOLDER.key, True)
    assert replacement_asked(_view(asked=_asked()), asked, NOTHING).fact is None
    kept = replacement_asked(_view(asked=_asked(new_disk=False)), asked, NOTHING).fact
    assert isinstance(kept, facts.NodeReplaceRequested)
