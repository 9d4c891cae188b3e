"""Game days beyond one server and its own machine: on a cloud's fake, and with two servers on one PostgreSQL."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine

from controlplane.background.game_days.referee import Referee, on_a_thread
from controlplane.cluster.commands import CommandRefused
from controlplane.commands.chaos_injection import bring_about
from controlplane.converger.steps.chaos_end import chaos_step
from events import facts
from events.ids import Epoch
from events.sql_store import SqlEventStore
from planner.rollout.desired import desired_nodes
from providers.base import InstanceState
from tests.builders import a_situation
from tests.fakes.clouds.hetzner_hands import HetznerHarness, hetzner_harness
from tests.fakes.resources import instance, resources
from tests.unit.controlplane.api.portal_house import START, House, broker
from tests.unit.controlplane.background.game_days.test_referee import Room
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

LOCAL = "{cloud: local, region: local-1, zones: [a, b, c]}"
HETZNER = "{cloud: hetzner, account: production, region: eu-central, zones: [fsn1, hel1, nbg1]}"
ON_HETZNER = OURS.replace(LOCAL, HETZNER) + "  chaos: allowed\n"


@pytest.fixture
def hetzner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerHarness]:
    with hetzner_harness(tmp_path, monkeypatch) as harness:
        yield harness


def made(harness: HetznerHarness, portal: House) -> None:
    """The brokers' VMs, in the fake and on record by their ids there."""
    view = portal.view()
    assert view.document is not None
    wanted = [n for n in desired_nodes(view.document) if n.node.startswith("brokers-")]
    planned = [broker(n.node, number, digest=n.digest) for number, n in enumerate(wanted, 1000)]
    letters = {p.node: letter for p, letter in zip(planned, "abc", strict=True)}
    harness.create(resources(*(instance(node, zone=letter) for node, letter in letters.items()), uid=view.uid))
    portal.surge(*planned)
    vms = (facts.LaunchedInstance(p.key, harness.id_of(p.key), f"10.0.0.{n}") for n, p in enumerate(planned, 2))
    portal.record(facts.SurgeCompleted("intent-1", tuple(vms), {}))
    portal.record(*(facts.InstanceJoined(p.key, p.service_id) for p in planned))


def test_on_a_cloud_a_game_needs_the_specs_yes_and_the_name_and_kills_the_vms_it_says_and_no_other(
    hetzner: HetznerHarness,
) -> None:
    room = Room(
        text=ON_HETZNER,
        vms=partial(made, hetzner),
        hands=partial(bring_about, lambda cloud: hetzner.cloud),
    )
    with pytest.raises(CommandRefused) as refused:
        room.start(faults=())
    assert refused.value.code == "name-mismatch"
    with pytest.raises(CommandRefused) as refused:
        room.start(faults=("pause",), confirm="orders")
    assert refused.value.code == "chaos-not-here"
    room.start(faults=("kill-vm",), confirm="orders", wanted=1)
    game = room.poll()
    (killed,) = [p.key for p in game.played]
    ids = {i.key: i.cloud_id for i in room.portal.view().instances.values()}
    assert len(ids) == 3
    there = hetzner.cloud.describe(hetzner.place, list(ids.values()))
    assert {key for key, vm in ids.items() if there[vm] is InstanceState.GONE} == {killed}
    assert (game.stopped, game.played[0].fault) == ("", "kill-vm")


def test_on_a_cloud_without_the_specs_yes_nobody_plays(hetzner: HetznerHarness) -> None:
    text = OURS.replace(LOCAL, HETZNER)
    room = Room(text=text, vms=partial(made, hetzner), hands=partial(bring_about, lambda cloud: hetzner.cloud))
    with pytest.raises(CommandRefused) as refused:
        room.start(faults=("kill-vm",), confirm="orders")
    assert refused.value.code == "chaos-forbidden"
    ids = [i.cloud_id for i in room.portal.view().instances.values()]
    assert InstanceState.GONE not in hetzner.cloud.describe(hetzner.place, ids).values()


@pytest.mark.postgres
def test_a_server_that_dies_in_the_middle_leaves_a_game_that_the_other_ends_and_a_fault_that_ends_by_its_time(
    postgresql: Engine,
) -> None:
    store = SqlEventStore(postgresql, clock=lambda: START)
    first = Room(store=store)
    asked = first.start()
    frozen, goes_on = threading.Event(), threading.Event()

    def freezes() -> None:
        if first.harmed:
            frozen.set()
            goes_on.wait(60)

    first.meanwhile = freezes
    first.referee.house = replace(first.referee.house, begin=on_a_thread)
    first.referee.poll()
    assert frozen.wait(60), "no fault was brought about"
    assert len(first.harmed) == 1

    # Its lease is over: the other one leads, and reads of it what is in the database.
    first.portal.lead.epoch = None
    second = House(store=store)
    second.lead.epoch = Epoch(4)
    second.converger.catch_up()
    beside = replace(first.referee.house, fleet=second.converger, commands=second.services.cluster.commands)
    referee = Referee(replace(beside, epoch=second.lead.held_epoch))
    referee.poll()
    view = second.view()
    (over,) = view.requests.games
    words = f"the server that played it is gone; what came of pause of {first.harmed[0]}"
    assert (view.requests.game, over.id, over.stopped.startswith(words)) == (None, asked.id, True)
    (fault,) = view.requests.chaos.values()
    assert chaos_step(replace(a_situation(view), now=START)) is None
    verdict = chaos_step(replace(a_situation(view), now=START + timedelta(seconds=fault.for_s)))
    assert verdict is not None
    assert verdict.events == (facts.ChaosEnded(fault.id, "its 15 s are over"),)

    # The first one comes to itself: it harms nothing more and records nothing.
    head = store.head()
    goes_on.set()
    first.referee.close()
    assert (store.head(), len(first.harmed)) == (head, 1)
    referee.poll()
    assert store.head() == head
