"""What an interrupted run left in the state is judged by what the cloud has, never by what Terraform thinks."""

from dataclasses import replace
from datetime import UTC, datetime

from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, RunKind, TerraformRun
from providers.tf.plan import StateResource
from providers.tf.unfinished import Settlement, in_question, settle, whole_in
from tests.fakes.resources import PLACE, UID, address, attachment, binding, instance, resources, run, targets, volume

WANTED = resources(
    instance("c-0"),
    volume("c-0"),
    attachment("c-0.g1", "c-0.data.v1"),
    address("c-0"),
    binding("c-0", "c-0.g1"),
)
SURGE = run(RunKind.SURGE, WANTED, creates=targets(WANTED))


def tainted(target: str) -> StateResource:
    return StateResource(address=f"tf.{target}", target=target, tainted=True)


def listing(
    *, state: InstanceState = InstanceState.RUNNING, intent: str = "intent-c-0.g1", whole: bool = True
) -> Listing:
    vm = CloudInstance(
        id="i",
        cluster_uid=UID,
        node="c-0",
        generation=1,
        intent_id=intent,
        zone="a",
        state=state,
        address="127.64.0.9",
        volumes=("c-0.data.v1",) if whole else (),
        addresses=("127.64.0.1",) if whole else (),
    )
    return Listing(
        place=PLACE,
        at=datetime.now(UTC),
        instances=(vm,),
        volumes=(CloudVolume("c-0.data.v1", UID, "a", 1, None),),
        node_addresses={(UID, "c-0"): "127.64.0.1"},
    )


def finished(target: str) -> StateResource:
    return StateResource(address=f"tf.{target}", target=target, tainted=False)


def judge(*state: StateResource, seen: Listing, wanted: TerraformRun = SURGE, repeatable: bool = True) -> Settlement:
    return settle(in_question(state, wanted), wanted, seen, repeatable=repeatable)


def test_what_exists_completely_is_kept() -> None:
    state = tuple(tainted(target) for target in sorted(targets(WANTED)))
    assert judge(*state, seen=listing()) == Settlement(untaint=tuple(r.address for r in state))


def test_a_vm_that_is_not_running_yet_is_created_again() -> None:
    pending = listing(state=InstanceState.PENDING)
    for entry in (tainted("instance/c-0.g1"), finished("instance/c-0.g1")):
        assert judge(entry, seen=pending) == Settlement(recreate=("tf.instance/c-0.g1",))


def test_what_is_written_down_as_finished_and_is_finished_is_left_alone() -> None:
    assert judge(*(finished(target) for target in targets(WANTED)), seen=listing()) == Settlement()


def test_where_a_second_create_makes_a_second_vm_nothing_is_created_again() -> None:
    pending = listing(state=InstanceState.PENDING)
    for entry in (tainted("instance/c-0.g1"), finished("instance/c-0.g1")):
        assert judge(entry, seen=pending, repeatable=False) == Settlement()


def test_a_vm_of_another_intent_is_not_ours_to_keep() -> None:
    assert judge(tainted("instance/c-0.g1"), seen=listing(intent="stranger")).untaint == ()


def test_an_attachment_or_binding_that_is_not_there_is_made_again() -> None:
    state = (tainted("attachment/c-0.g1.data"), finished("binding/c-0.g1"))
    assert judge(*state, seen=listing(whole=False)).recreate == tuple(r.address for r in state)


def test_what_is_to_be_deleted_is_untainted_so_that_its_deletion_is_a_real_one() -> None:
    retire = run(RunKind.RETIRE, WANTED, deletes={"instance/c-0.g1"})
    gone = listing(state=InstanceState.GONE)
    assert judge(tainted("instance/c-0.g1"), seen=gone, wanted=retire) == Settlement(untaint=("tf.instance/c-0.g1",))


def test_what_the_run_does_not_name_and_is_not_tainted_is_no_question() -> None:
    other = run(RunKind.SURGE, WANTED, creates={"volume/c-0.data.v1"}, forget={"address/c-0"})
    assert in_question([finished("instance/c-0.g1"), tainted("address/c-0")], other) == ()


def test_another_clusters_vm_proves_nothing() -> None:
    other = run(RunKind.SURGE, resources(instance("c-0"), uid="other"), creates={"instance/c-0.g1"})
    assert judge(tainted("instance/c-0.g1"), seen=listing(), wanted=other).untaint == ()


def test_what_hangs_on_one_vm_is_whole_whatever_other_vms_of_the_cluster_hold() -> None:
    seen = listing()
    other = replace(seen.instances[0], id="j", node="c-1", volumes=(), addresses=())
    ties = [t for t in sorted(targets(WANTED)) if t.startswith(("attachment/", "binding/"))]
    both = replace(seen, instances=(*seen.instances, other))
    assert len(ties) == 2
    assert whole_in(WANTED, both) >= set(ties)
    assert judge(*map(tainted, ties), seen=both) == Settlement(untaint=tuple(f"tf.{t}" for t in ties))


def test_a_disk_and_an_address_of_other_vms_of_the_cluster_are_not_this_ones() -> None:
    bare = listing(whole=False)
    other = replace(bare.instances[0], id="j", node="c-1", volumes=("c-0.data.v1",), addresses=("127.64.0.1",))
    found = whole_in(WANTED, replace(bare, instances=(*bare.instances, other)))
    assert not [t for t in found if t.startswith(("attachment/", "binding/"))]
