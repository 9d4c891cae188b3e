"""From an intent to one Terraform run: the rendered set, and exactly what the run may change in it."""

from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.questions.clouds.rendering import terraform_run
from providers.base import Place, RunKind, TerraformRun
from providers.tf.guard import check
from tests.builders import BEFORE, a_view, an_instance

OLD, NEW = "brokers-a-0.g1", "brokers-a-0.g2"
C_OLD, C_NEW = "controllers-a-0.g1", "controllers-a-0.g2"


def _run(view: ClusterView, kind: str, *keys: str, gone: tuple[str, ...] = (), **intent: Any) -> TerraformRun:
    return terraform_run(
        view,
        IntentView("i", kind, keys, BEFORE, **intent),
        installation_id="test",
        boot_data=lambda i: f"boot {i.key}",
        gone=frozenset(gone),
    )


def _instances(run: TerraformRun) -> set[str]:
    return {i.key for i in run.resources.instances}


def test_a_surge_creates_exactly_the_new_vm_and_what_is_its_own() -> None:
    run = _run(a_view(an_instance("brokers-a-0", 2, Phase.REQUESTED)), "surge", NEW)
    assert run.kind is RunKind.SURGE
    assert run.creates == {f"instance/{NEW}", "volume/brokers-a-0.data.v2", f"attachment/{NEW}.data"}
    assert (run.deletes, run.forget) == (frozenset(), frozenset())
    assert {OLD, NEW} <= _instances(run)


def test_every_run_is_told_what_stands_before_it_since_its_state_may_be_lost_or_older() -> None:
    new = an_instance("brokers-a-0", 2, Phase.REQUESTED)
    surge = _run(a_view(new), "surge", NEW).adopts
    retire = _run(a_view(an_instance("brokers-a-0", 1, Phase.RETIRING)), "retire", OLD).adopts
    for before in (surge, retire):
        assert before is not None
        assert {i.key for i in before.instances} == {i.key for i in a_view().alive()}
        assert {v.key for v in before.volumes} == {v.key for i in a_view().alive() for v in i.planned.volumes}


def test_a_new_controller_gets_its_nodes_address() -> None:
    run = _run(a_view(an_instance("controllers-a-0", 1, Phase.REQUESTED)), "surge", C_OLD)
    assert {"address/controllers-a-0", f"binding/{C_OLD}"} <= run.creates


def test_a_controllers_successor_is_made_without_volume_and_address() -> None:
    run = _run(a_view(an_instance("controllers-a-0", 2, Phase.REQUESTED)), "surge", C_NEW)
    assert run.creates == {f"instance/{C_NEW}"}
    assert C_NEW not in {a.instance for a in run.resources.attachments}
    assert C_NEW not in {b.instance for b in run.resources.bindings}


def test_another_surge_that_has_not_run_stays_out() -> None:
    waiting = an_instance("brokers-b-0", 2, Phase.REQUESTED)
    run = _run(a_view(waiting, an_instance("brokers-a-0", 2, Phase.REQUESTED)), "surge", NEW)
    assert waiting.key not in _instances(run)
    assert "brokers-b-0.data.v2" not in {v.key for v in run.resources.volumes}


def test_release_and_bind_move_the_ties_and_nothing_else() -> None:
    old = an_instance("controllers-a-0", 1, Phase.FENCED)
    release = _run(a_view(old, an_instance("controllers-a-0", 2, Phase.LAUNCHED)), "release", C_OLD)
    assert (release.creates, release.deletes) == (frozenset(), {f"attachment/{C_OLD}.data", f"binding/{C_OLD}"})
    assert {C_OLD, C_NEW} <= _instances(release)
    free = an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False)
    bind = _run(a_view(free, an_instance("controllers-a-0", 2, Phase.LAUNCHED)), "bind", C_NEW)
    assert (bind.creates, bind.deletes) == ({f"attachment/{C_NEW}.data", f"binding/{C_NEW}"}, frozenset())
    assert {a.instance for a in bind.resources.attachments if a.volume == "controllers-a-0.data.v1"} == {C_NEW}


def test_a_retire_deletes_exactly_the_named_vm_and_its_volume() -> None:
    view = a_view(an_instance("brokers-a-0", 1, Phase.RETIRING), an_instance("brokers-a-0", 2))
    run = _run(view, "retire", OLD, volumes=("brokers-a-0.data.v1",))
    assert run.deletes == {f"instance/{OLD}", f"attachment/{OLD}.data", "volume/brokers-a-0.data.v1"}
    assert OLD not in _instances(run)
    assert "brokers-a-0.data.v1" not in {v.key for v in run.resources.volumes}


def test_a_retired_controller_leaves_volume_and_address_to_its_node() -> None:
    view = a_view(an_instance("controllers-a-0", 1, Phase.RETIRING, bound=False), an_instance("controllers-a-0", 2))
    run = _run(view, "retire", C_OLD)
    assert run.deletes == {f"instance/{C_OLD}"}
    assert "controllers-a-0.data.v1" in {v.key for v in run.resources.volumes}


def test_what_is_proved_gone_leaves_the_state_first_and_is_not_asked_for_again() -> None:
    lost = an_instance("brokers-b-0", lost_at=BEFORE)
    view = a_view(lost, an_instance("brokers-a-0", 2, Phase.REQUESTED))
    run = _run(view, "surge", NEW, gone=("brokers-c-0.g1",))
    assert run.forget == {
        f"{kind}/{key}{tie}"
        for key in (lost.key, "brokers-c-0.g1")
        for kind, tie in (("instance", ""), ("attachment", ".data"))
    }
    assert not {lost.key, "brokers-c-0.g1"} & _instances(run)


def test_a_vm_being_made_is_never_taken_for_dead() -> None:
    """A surge that was killed half-way is adopted by its tag, not forgotten."""
    run = _run(a_view(an_instance("brokers-a-0", 2, Phase.REQUESTED)), "surge", NEW, gone=(NEW,))
    assert NEW in _instances(run)
    assert not run.forget


def test_a_dead_vm_is_retired_like_a_living_one() -> None:
    """Its disk goes in the same run; a run that forgot the VM and deleted it too would be refused."""
    dead = an_instance("brokers-a-0", 1, Phase.RETIRING, lost_at=BEFORE)
    run = _run(
        a_view(dead, an_instance("brokers-a-0", 2)), "retire", OLD, gone=(OLD,), volumes=("brokers-a-0.data.v1",)
    )
    assert run.deletes == {f"instance/{OLD}", f"attachment/{OLD}.data", "volume/brokers-a-0.data.v1"}
    assert run.forget == frozenset()
    check((), run)


def test_the_release_of_a_dead_controller_forgets_it_and_deletes_nothing() -> None:
    dead = an_instance("controllers-a-0", 1, Phase.FENCED, lost_at=BEFORE)
    run = _run(a_view(dead, an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=False)), "release", C_OLD)
    assert run.forget == {f"instance/{C_OLD}", f"attachment/{C_OLD}.data", f"binding/{C_OLD}"}
    assert run.deletes == frozenset()
    assert C_OLD not in _instances(run)
    check((), run)


def test_a_destroy_names_everything_and_keeps_nothing() -> None:
    view = a_view()
    run = _run(view, "destroy", *(i.key for i in view.alive()))
    assert (run.resources.instances, run.resources.volumes, run.resources.addresses) == ((), (), ())
    assert len([d for d in run.deletes if d.startswith("instance/")]) == 6
    assert len([d for d in run.deletes if d.startswith("volume/")]) == 6
    assert len([d for d in run.deletes if d.startswith("address/")]) == 3


def test_boot_data_and_image_are_those_of_the_intent() -> None:
    run = _run(a_view(an_instance("brokers-a-0", 2, Phase.REQUESTED, kafka_version="4.2.0")), "surge", NEW)
    made = next(i for i in run.resources.instances if i.key == NEW)
    assert (made.image, made.boot_data, made.intent_id) == ("4.2.0", f"boot {NEW}", f"surge-{NEW}")
    assert (run.resources.installation_id, run.resources.cluster_uid) == ("test", "c0ffee")


def test_a_cluster_without_document_lives_nowhere() -> None:
    assert places_of(a_view(document=None)) == ()
    assert places_of(a_view()) == (Place("local", "local-1"),)


def test_where_the_old_vm_goes_first_its_release_deletes_it_and_the_bind_makes_the_next() -> None:
    new = an_instance("controllers-a-0", 2, Phase.REQUESTED, bound=False, deferred=True)
    view = a_view(an_instance("controllers-a-0", 1, Phase.FENCED), new)
    release = _run(view, "release", C_OLD, with_vm=True)
    assert release.deletes == {f"attachment/{C_OLD}.data", f"binding/{C_OLD}", f"instance/{C_OLD}"}
    assert not {C_OLD, C_NEW} & _instances(release)
    check((), release)
    deleted = an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False, deleted=True)
    bind = _run(a_view(deleted, new), "bind", C_NEW, gone=(C_OLD,))
    assert bind.creates == {f"attachment/{C_NEW}.data", f"binding/{C_NEW}", f"instance/{C_NEW}"}
    assert C_NEW in _instances(bind)
    assert C_OLD not in _instances(bind)


def test_a_vm_that_went_with_its_release_is_wanted_by_no_run() -> None:
    deleted = an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False, deleted=True)
    other = an_instance("brokers-a-0", 2, Phase.REQUESTED)
    assert C_OLD not in _instances(_run(a_view(deleted, other), "surge", NEW))
    retiring = an_instance("controllers-a-0", 1, Phase.RETIRING, bound=False, deleted=True)
    retire = _run(a_view(retiring, an_instance("controllers-a-0", 2)), "retire", C_OLD)
    assert (retire.deletes, C_OLD in _instances(retire)) == ({f"instance/{C_OLD}"}, False)
