"""What exists and is in no state comes in by import before the run; what cannot be imported stops it, in words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from providers.base import (
    CloudInstance,
    CloudProvider,
    CloudVolume,
    InstanceState,
    Listing,
    Place,
    Resources,
    RunKind,
)
from providers.errors import NotImportable, ResourceConflict, UnsafeChange
from providers.tf.abilities import Import
from providers.tf.adoption import adopting_run
from providers.tf.guard import check_import
from providers.tf.imports import import_step, in_module
from providers.tf.plan import Action, PlannedChange
from providers.tf.rendered_set import targets_of
from tests.fakes.cloud import FakeCloud
from tests.fakes.resources import PLACE, UID, address, attachment, binding, instance, resources, run, surge, volume

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
CONTROLLER = (
    instance("c-0"),
    volume("c-0", "meta"),
    address("c-0"),
    attachment("c-0.g1", "c-0.meta.v1"),
    binding("c-0", "c-0.g1"),
)
OTHER = instance("b-1")


@dataclass
class Importer(FakeCloud):
    """Imports everything by an address and id made of its target, but for `again` and `never`."""

    again: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    twins: tuple[CloudInstance, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def list_place(self, place: Place) -> Listing:
        listed = FakeCloud.list_place(self, place)
        return replace(listed, instances=(*listed.instances, *self.twins))

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        if target in self.never:
            return None
        if target in self.again:
            return ()
        word, _, key = target.partition("/")
        found = {f"instance/{i.key}": i.id for i in listing.instances}
        names = self.parts.get(word, (word,))
        return tuple(Import(in_module(f"a_{word}.{name}", key), found.get(target, f"id-{target}")) for name in names)


def existing_with(*parts: object, **more: object) -> Importer:
    cloud = Importer(**more)  # type: ignore[arg-type]
    cloud.apply(surge(resources(*parts)))  # type: ignore[arg-type]
    return cloud


def state_of(*addresses: tuple[str, str, str], outputs: Mapping[str, str] | None = None) -> bytes:
    """A state that holds (type, name, key) of the module."""
    held = [
        {"module": "module.kedge", "mode": "managed", "type": t, "name": n, "instances": [{"index_key": k}]}
        for t, n, k in addresses
    ]
    told = {"instances": {"value": {k: {"id": i} for k, i in (outputs or {}).items()}}}
    return json.dumps({"lineage": "x", "serial": 1, "resources": held, "outputs": told}).encode()


def twin(key: str, twin_id: str, **overrides: object) -> CloudInstance:
    node, _, generation = key.rpartition(".g")
    told = CloudInstance(twin_id, UID, node, int(generation), f"intent-{key}", "a", InstanceState.RUNNING, "10.9.9.9")
    return replace(told, **overrides)  # type: ignore[arg-type]


def test_what_a_killed_run_made_is_imported_before_the_same_run() -> None:
    cloud = existing_with(*BROKER)
    step = import_step(surge(resources(*BROKER, OTHER)), None, cloud)
    assert step is not None
    assert {i.address for i in step.imports} == {
        'module.kedge.a_instance.instance["b-0.g1"]',
        'module.kedge.a_volume.volume["b-0.data.v1"]',
        'module.kedge.a_attachment.attachment["b-0.g1.data"]',
    }
    assert targets_of(step.run.resources) == targets_of(resources(*BROKER)), "nothing is rendered that it would make"
    assert (step.run.kind, step.run.creates, step.run.deletes) == (RunKind.SURGE, frozenset(), frozenset())


def test_addresses_and_bindings_are_imported_too() -> None:
    step = import_step(surge(resources(*CONTROLLER)), None, existing_with(*CONTROLLER))
    assert step is not None
    assert {i.id for i in step.imports} >= {"id-address/c-0", "id-binding/c-0.g1"}


def test_a_run_that_finds_nothing_goes_ahead_at_once() -> None:
    assert import_step(surge(resources(*BROKER)), None, Importer()) is None


def test_a_run_that_creates_nothing_asks_nobody() -> None:
    cloud = Importer()
    cloud.failures.append(AssertionError("it was asked"))  # type: ignore[arg-type]
    assert import_step(surge(resources(*BROKER), only=frozenset()), None, cloud) is None


def test_what_the_state_knows_is_not_imported_again() -> None:
    known = state_of(("a_instance", "instance", "b-0.g1"), ("a_volume", "volume", "b-0.data.v1"))
    step = import_step(surge(resources(*BROKER)), known, existing_with(*BROKER))
    assert step is not None
    assert [i.id for i in step.imports] == ["id-attachment/b-0.g1.data"]
    assert targets_of(step.run.resources) == targets_of(resources(*BROKER))


def test_the_rest_of_a_target_of_several_resources_is_imported() -> None:
    cloud = existing_with(instance("b-0"), parts={"instance": ("instance", "instance_nic")})
    step = import_step(surge(resources(instance("b-0"))), state_of(("a_instance", "instance_nic", "b-0.g1")), cloud)
    assert step is not None
    assert [i.address for i in step.imports] == ['module.kedge.a_instance.instance["b-0.g1"]']


def test_a_vm_that_boots_or_stands_still_exists() -> None:
    cloud = Importer(twins=(twin("b-0.g1", "i-1", state=InstanceState.STOPPING),))
    step = import_step(surge(resources(instance("b-0"))), None, cloud)
    assert step is not None
    assert [i.id for i in step.imports] == ["i-1"]


def test_a_vm_the_cloud_calls_gone_is_made_anew() -> None:
    cloud = Importer(twins=(twin("b-0.g1", "i-1", state=InstanceState.GONE),))
    assert import_step(surge(resources(instance("b-0"))), None, cloud) is None


def test_of_twins_the_one_in_the_state_stays() -> None:
    cloud = Importer(twins=(twin("b-0.g1", "i-1"), twin("b-0.g1", "i-2", volumes=("b-0.data.v1",))))
    known = state_of(("a_instance", "instance", "b-0.g1"), outputs={"b-0.g1": "i-1"})
    assert import_step(surge(resources(instance("b-0"))), known, cloud) is None
    unknown = import_step(surge(resources(instance("b-0"))), None, cloud)
    assert unknown is not None
    assert [i.id for i in unknown.imports] == ["i-2"], "else the one that holds something"
    alike = import_step(
        surge(resources(instance("b-0"))),
        None,
        Importer(twins=(twin("b-0.g1", "i-9"), twin("b-0.g1", "i-3", state=InstanceState.PENDING))),
    )
    assert alike is not None
    assert [i.id for i in alike.imports] == ["i-3"], "else the first, whatever it is doing"


def test_a_vm_of_another_intent_is_not_taken() -> None:
    cloud = Importer(twins=(twin("b-0.g1", "i-1", intent_id="older"),))
    with pytest.raises(ResourceConflict, match=r"i-1 has the key b-0\.g1.*made for intent older"):
        import_step(surge(resources(instance("b-0"))), None, cloud)


def test_a_lost_state_is_made_again_from_all_that_stands_before_the_run() -> None:
    cloud = existing_with(*BROKER, *CONTROLLER, again=frozenset({"attachment/b-0.g1.data"}))
    run = replace(surge(resources(OTHER)), adopts=resources(*BROKER, *CONTROLLER))
    step = import_step(run, None, cloud)
    assert step is not None
    assert targets_of(step.run.resources) == targets_of(resources(*BROKER, *CONTROLLER))
    assert step.run.creates == {"attachment/b-0.g1.data"}, "made again, which makes nothing"
    assert len(step.imports) == 7


def test_before_a_run_that_only_deletes_a_lost_state_is_made_again_with_what_is_to_go() -> None:
    cloud = existing_with(*BROKER, *CONTROLLER)
    before = resources(*BROKER, *CONTROLLER)
    retire = run(RunKind.RETIRE, resources(*CONTROLLER), deletes=targets_of(resources(*BROKER)))
    step = import_step(replace(retire, adopts=before), None, cloud)
    assert step is not None
    assert targets_of(step.run.resources) == targets_of(before)
    assert (step.run.creates, step.run.deletes) == (frozenset(), frozenset())
    assert {i.address for i in step.imports} >= {'module.kedge.a_instance.instance["b-0.g1"]'}


def test_what_an_older_state_lacks_is_imported_before_a_run_that_only_deletes() -> None:
    cloud = existing_with(*BROKER, OTHER)
    older = state_of(
        ("a_instance", "instance", "b-0.g1"),
        ("a_volume", "volume", "b-0.data.v1"),
        ("a_attachment", "attachment", "b-0.g1.data"),
    )
    retire = run(RunKind.RETIRE, resources(OTHER), deletes=targets_of(resources(*BROKER)))
    step = import_step(replace(retire, adopts=resources(*BROKER, OTHER)), older, cloud)
    assert step is not None
    assert [i.address for i in step.imports] == [f'module.kedge.a_instance.instance["{OTHER.key}"]']
    assert targets_of(step.run.resources) == targets_of(resources(*BROKER, OTHER)), "and what the state has stays"


def test_a_vm_an_earlier_try_of_the_same_run_is_deleting_is_not_taken_back_into_the_state() -> None:
    cloud = existing_with(OTHER)
    cloud.twins = (twin("b-0.g1", "i-ending", state=InstanceState.STOPPING, volumes=("b-0.data.v1",)),)
    known = state_of(("a_instance", "instance", OTHER.key))
    retire = run(RunKind.RETIRE, resources(OTHER), deletes=targets_of(resources(*BROKER)))
    assert import_step(replace(retire, adopts=resources(*BROKER, OTHER)), known, cloud) is None


def test_a_state_that_knows_all_that_stands_asks_nobody() -> None:
    cloud = Importer()
    cloud.failures.append(AssertionError("it was asked"))  # type: ignore[arg-type]
    known = state_of(("a_instance", "instance", "b-0.g1"))
    before = resources(instance("b-0"))
    retire = run(RunKind.RETIRE, resources(), deletes=targets_of(before))
    assert import_step(replace(retire, adopts=before), known, cloud) is None
    assert adopting_run(replace(retire, adopts=before), targets_of(before), cloud) is None


def test_what_is_forgotten_is_not_imported() -> None:
    cloud = existing_with(*BROKER)
    run = replace(surge(resources(*BROKER)), forget=frozenset({"instance/b-0.g1"}), adopts=resources(*BROKER))
    step = import_step(run, None, cloud)
    assert step is not None
    assert all("a_instance" not in i.address for i in step.imports)


@pytest.mark.parametrize("cloud", [FakeCloud, lambda: Importer(never=frozenset({"instance/b-0.g1"}))])
def test_what_cannot_be_imported_stops_the_run(cloud: type[FakeCloud]) -> None:
    there: CloudProvider = cloud()
    there.apply(surge(resources(instance("b-0"))))  # type: ignore[attr-defined]
    with pytest.raises(NotImportable, match="does not know instance/b-0.g1, which exists, and local cannot"):  # noqa: RUF043
        import_step(surge(resources(instance("b-0"))), None, there)


VM, NIC = in_module("a_instance.instance", "b-0.g1"), in_module("a_address.address", "c-0")


def change(address: str, action: Action, *, imported: bool = False) -> PlannedChange:
    word = address.split(".")[3].partition("[")[0]
    return PlannedChange(address, f"{word}/{address.partition(chr(34))[2].rstrip(chr(34) + ']')}", action, imported)


def test_an_import_may_bring_in_exactly_what_is_asked_for() -> None:
    run = surge(resources(instance("b-0")), only=frozenset())
    check_import([change(VM, Action.NOOP, imported=True), change(NIC, Action.NOOP)], run, frozenset({VM}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([], "the plan does not import it"),
        ([change(VM, Action.UPDATE, imported=True)], "would update it"),
        ([change(VM, Action.REPLACE, imported=True)], "would replace it"),
        ([change(VM, Action.NOOP, imported=True), change(NIC, Action.NOOP, imported=True)], "nobody asked"),
        ([change(VM, Action.NOOP, imported=True), change(NIC, Action.CREATE)], "would create it"),
        ([change(VM, Action.NOOP, imported=True), change(NIC, Action.DELETE)], "would delete it"),
    ],
)
def test_an_import_that_would_change_anything_is_refused(changes: list[PlannedChange], reason: str) -> None:
    with pytest.raises(UnsafeChange, match=reason):
        check_import(changes, surge(resources(instance("b-0")), only=frozenset()), frozenset({VM}))


def test_a_volume_made_twice_counts_once_and_the_attached_one_is_it() -> None:
    first, second = (
        CloudVolume("b-0.data.v1", UID, "a", 1, tie, id=i) for tie, i in ((None, "v-1"), ("b-0.g1", "v-2"))
    )
    seen: list[str] = []

    class Watched(Importer):
        def list_place(self, place: Place) -> Listing:
            return Listing(PLACE, datetime.now(UTC), (), (first, second))

        def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
            seen.extend(v.id for v in listing.volumes)
            return ()

    import_step(surge(resources(volume("b-0"))), None, Watched())
    assert seen == ["v-2"]
