"""Cost tags of what stands: who is next, what the run is, what a failure means; and nothing without a list."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest

from controlplane.cluster.folds.tagging import RULES, tags_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.intents import intent_step, job_id
from controlplane.converger.steps.rolls.tagging import AGAIN_AFTER, tagging_step, tags_left_step
from events import facts
from events.spec.model import KafkaClusterDocument
from providers.base import RunKind
from tests.builders import NOW, a_document, a_situation, a_view

LIST = ("team", "env")
KEY, SECOND = "brokers-a-0.g1", "brokers-b-0.g1"


def _document(cloud: str = "hetzner", **labels: str) -> KafkaClusterDocument:
    document = a_document()
    metadata = document.metadata.model_copy(update={"labels": labels})
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"cloud": cloud})}) for p in document.spec.pools
    )
    spec = document.spec.model_copy(update={"pools": pools})
    return document.model_copy(update={"metadata": metadata, "spec": spec})


def _view(cloud: str = "hetzner", born: Mapping[str, str] | None = None, **labels: str) -> ClusterView:
    view = a_view()
    there = {k: replace(i, planned=replace(i.planned, cost_tags=born)) for k, i in view.instances.items()}
    return replace(view, instances=MappingProxyType(there), document=_document(cloud, **labels))


def _at(view: ClusterView, listed: tuple[str, ...] = LIST, **more: object) -> Situation:
    return replace(a_situation(view), cost_tags=listed, **more)  # type: ignore[arg-type]


def _asked(decision: Decision | None) -> facts.TaggingRequested:
    assert decision is not None
    (event,) = decision.events
    assert isinstance(event, facts.TaggingRequested)
    return event


def _after(view: ClusterView, *events: object) -> ClusterView:
    for event in events:
        view = RULES[type(event)](view, event, NOW)
    return view


def test_without_a_list_nothing_is_tagged_whatever_the_labels_say() -> None:
    assert tagging_step(_at(_view(team="payments", secret="x"), ())) is None
    assert tagging_step(_at(_view(secret="x"))) is None
    assert tags_left_step(_at(_view(team="payments"), ())) is None


def test_vms_are_tagged_one_after_the_other_under_intents_of_their_own() -> None:
    view = _view(team="payments", secret="x")
    first = _asked(tagging_step(_at(view)))
    assert (first.key, first.tags, first.dropped) == (KEY, {"team": "payments"}, ())
    assert "cost tags team=payments" in first.reason
    done = _after(view, first, facts.TaggingCompleted(first.intent))
    second = _asked(tagging_step(_at(done)))
    assert second.key == SECOND
    assert second.intent != first.intent


def test_a_label_that_comes_back_is_another_run() -> None:
    """Runs are jobs by the name of their intent: one that was done would count as done again."""
    view, intents = _view(team="a"), []
    for value in ("a", "b", "a"):
        view = replace(view, document=_document(team=value))
        asked = _asked(tagging_step(_at(view)))
        intents.append(asked.intent)
        view = _after(view, asked, facts.TaggingCompleted(asked.intent))
    assert len({*intents}) == 3


def test_a_label_taken_away_or_off_the_list_goes_from_what_stands() -> None:
    view = _view(born={"team": "payments", "env": "test"}, team="payments")
    asked = _asked(tagging_step(_at(view)))
    assert (asked.tags, asked.dropped) == ({"team": "payments"}, ("env",))
    unlisted = _asked(tagging_step(_at(view, ())))
    assert (unlisted.tags, unlisted.dropped) == ({}, ("env", "team"))


def test_who_has_its_tags_is_left_alone_and_so_is_the_local_cloud() -> None:
    assert tagging_step(_at(_view(born={"team": "payments"}, team="payments"))) is None
    assert tagging_step(_at(_view("local", team="payments"))) is None


@pytest.mark.parametrize("changes", [{"phase": Phase.DRAINING}, {"lost_at": NOW}, {"bound": False}])
def test_who_is_on_its_way_out_or_in_is_left_for_later(changes: dict[str, object]) -> None:
    view = _view(team="payments")
    there = {**view.instances, KEY: replace(view.instances[KEY], **changes)}  # type: ignore[arg-type]
    assert _asked(tagging_step(_at(replace(view, instances=MappingProxyType(there))))).key == SECOND


def test_the_run_names_the_vm_its_disks_and_its_nodes_address_and_makes_nothing() -> None:
    view = _view(team="payments")
    for key, others in ((KEY, {"volume/brokers-a-0.data.v1"}), ("controllers-a-0.g1", {"address/controllers-a-0"})):
        asked = facts.TaggingRequested("i", key, {"team": "payments"}, ("env",), "why")
        tagged = _after(view, asked)
        run = terraform_run(tagged, tagged.intents["i"], installation_id="i", boot_data=lambda _: "", gone=frozenset())
        assert run.kind is RunKind.TAG
        assert run.tagging is not None
        assert run.tagging.targets >= {f"instance/{key}", *others}
        assert (run.tagging.put, run.tagging.dropped) == ({"team": "payments"}, {"env"})
        assert not run.creates | run.deletes
        assert {i.key for i in run.resources.instances} == view.instances.keys()


def test_what_is_rendered_without_cost_tags_is_what_it_was() -> None:
    view = _view(team="payments")
    asked = _after(view, facts.TaggingRequested("i", KEY, {"team": "payments"}, (), "why"))
    run = terraform_run(asked, asked.intents["i"], installation_id="i", boot_data=lambda _: "", gone=frozenset())
    assert not any(one.cost_tags for one in (*run.resources.instances, *run.resources.volumes))


def _in_hand(view: ClusterView, **told: object) -> tuple[Decision, ClusterView]:
    asked = _asked(tagging_step(_at(view)))
    view = _after(view, asked)
    intent = replace(view.intents[asked.intent], **told)  # type: ignore[arg-type]
    view = replace(view, intents=MappingProxyType({intent.id: intent}))
    situation = _at(view)
    job = JobSeen(job_id(intent), "succeeded", ended_at=NOW)
    jobs = {} if intent.failed_at else {job_id(intent): job}
    decision = intent_step(replace(situation, seen=replace(situation.seen, jobs=jobs)))
    assert decision is not None
    return decision, view


def test_a_run_that_ended_well_is_the_end_of_it() -> None:
    decision, view = _in_hand(_view(team="payments"))
    (event,) = decision.events
    assert isinstance(event, facts.TaggingCompleted)
    view = _after(view, event)
    assert tags_on(view, view.instances[KEY]).tags == {"team": "payments"}
    assert not view.intents


@pytest.mark.parametrize(
    "told",
    [{"failures": 1, "retryable": False}, {"failures": 2}, {"refusals": 1}],
    ids=["refused", "failed twice", "not permitted"],
)
def test_a_run_that_fails_is_given_up_so_that_nothing_else_waits_for_a_tag(told: dict[str, object]) -> None:
    decision, view = _in_hand(_view(team="payments"), failed_at=NOW, error="AuthFailed: no CreateTags", **told)
    (event,) = decision.events
    assert isinstance(event, facts.TaggingFailed)
    view = _after(view, event)
    assert not view.intents, "the cluster goes on"
    assert _asked(tagging_step(_at(view))).key == SECOND, "the next one is tried"
    left = tags_left_step(_at(view))
    assert left is not None
    assert left.wait is not None
    assert left.wait.reason == "CostTagsMissing"
    assert "brokers-a-0.g1: AuthFailed: no CreateTags" in left.sentence


def test_it_is_tried_again_after_an_hour_or_at_once_with_other_labels() -> None:
    first = _asked(tagging_step(_at(_view(team="payments"))))
    view = _after(_view(team="payments"), first, facts.TaggingFailed(first.intent, "no"))
    later = _asked(tagging_step(_at(view, now=NOW + AGAIN_AFTER)))
    assert (later.key, later.dropped) == (KEY, ())
    assert later.intent != first.intent
    assert _asked(tagging_step(_at(view, now=NOW + AGAIN_AFTER - timedelta(seconds=1)))).key == SECOND
    other = _asked(tagging_step(_at(replace(view, document=_document(env="prod")))))
    assert (other.key, other.tags) == (KEY, {"env": "prod"})
    assert other.dropped == ("team",), "the run that failed may have put it"


def test_a_label_that_came_before_the_list_and_does_not_fit_is_said_and_put_on_nothing() -> None:
    view = _view(team="no spaces here, please")
    assert tagging_step(_at(view)) is None
    left = tags_left_step(_at(view))
    assert left is not None
    assert "label `team` is on no VM of hetzner" in left.sentence
