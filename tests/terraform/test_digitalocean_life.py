"""A cluster's whole life on DigitalOcean: the real Terraform, a stand-in for the vendor's provider, and our fake.

Each run goes through the guard as in production. What a stand-in proves and what it does not is in
tests/standins/README.md; where the fake is not DigitalOcean, in tests/fakes/clouds/differences.md.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from providers.base import InstanceState, Resources, RunKind
from providers.cloud_init import BOOT_FILE
from providers.digitalocean.permissions import OF_CALLS
from providers.errors import (
    AuthFailed,
    PlaceUnknown,
    QuotaExceeded,
    RunInterrupted,
    TerraformFailed,
    UnsafeChange,
)
from providers.tf.state_file import state_file
from tests.borndata import files_of
from tests.fakes.clouds.digitalocean import TOKEN
from tests.fakes.clouds.digitalocean_hands import FIREWALL_TAG, PLACE
from tests.fakes.clouds.digitalocean_http import Answer
from tests.fakes.clouds.digitalocean_shapes import VPC
from tests.fakes.clouds.faults import Fault
from tests.fakes.resources import UID, address, attachment, instance, resources, run, surge, targets, volume
from tests.terraform.digitaloceanlife import DigitaloceanBench, digitalocean_bench
from tests.terraform.spent import GONE, NOTHING, VM, Spent

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MAKE, DELETE = "POST /v2/droplets", "DELETE /v2/droplets/*"

BROKER = (
    instance("b-0"),
    volume("b-0"),
    volume("b-0", "logs"),
    attachment("b-0.g1", "b-0.data.v1"),
    attachment("b-0.g1", "b-0.logs.v1"),
)
OWN_DISK = (
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
KEPT = (volume("b-2", zone="c"),)
OLD, NEW = instance("b-2", zone="c"), instance("b-2", 2, zone="c")
ON_OLD = (attachment("b-2.g1", "b-2.data.v1"),)
ON_NEW = (attachment("b-2.g2", "b-2.data.v1"),)


@pytest.fixture(params=["stand-in"])
def bench(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DigitaloceanBench]:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", TOKEN)
    with digitalocean_bench(tmp_path) as opened:
        yield opened


def test_a_cluster_lives_and_leaves_nothing_on_digitalocean(bench: DigitaloceanBench, tmp_path: Path) -> None:
    def set_of(*parts: object) -> Resources:
        return bench.hands.here(resources(*parts))  # type: ignore[arg-type]

    bench.fake.pending_polls = 2  # the two volumes of b-0 have to wait for one another
    first = set_of(*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    made = bench.execute(surge(first))
    assert set(made.changed) == targets(first)
    assert {i.key: (i.state, i.volumes, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1", "b-0.logs.v1"), "nyc3-a"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), "nyc3-b"),
        "b-2.g1": (InstanceState.RUNNING, ("b-2.data.v1",), "nyc3-c"),
    }
    is_as_the_module_promises(bench)

    writes = writes_of(bench)
    later = tuple(replace(i, boot_data="{}", shape="large", image="4.2.0") for i in first.instances)
    spent = Spent(bench.fake.calls, lambda call: not call.startswith("GET"))
    with spent.on(NOTHING):
        # A VM is frozen, whatever is rendered for it later.
        again = bench.execute(surge(replace(first, instances=later)))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert writes_of(bench) == writes

    bench.fake.pending_polls = 0  # what is told to wait is asked for again, and would be counted too
    both = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_OLD)
    spent.on_asking_ahead(bench.cloud, both, "instance/b-2.g2")
    with spent.on(VM):
        grown = bench.execute(surge(both, only=frozenset({"instance/b-2.g2"}), intent="run-2"))
    assert grown.changed == ("instance/b-2.g2",)

    bench.execute(run(RunKind.RELEASE, both, deletes={"attachment/b-2.g1.data"}, intent="run-3"))
    assert {(i.key, i.volumes) for i in bench.listing().instances if i.node == "b-2"} == {
        ("b-2.g1", ()),
        ("b-2.g2", ()),
    }
    after = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.BIND, after, creates={"attachment/b-2.g2.data"}, intent="run-4"))
    assert bench.vm("b-2.g2").volumes == ("b-2.data.v1",)

    old = bench.vm("b-2.g1").id
    with spent.on(VM):
        retired = bench.execute(run(RunKind.RETIRE, after, deletes={"instance/b-2.g1"}, intent="run-5"))
    assert retired.changed == ("instance/b-2.g1",)
    with spent.on(GONE):
        assert bench.cloud.describe(after.place, [old]) == {old: InstanceState.GONE}
    calls = {k: n - writes.get(k, 0) for k, n in writes_of(bench).items() if n > writes.get(k, 0)}
    assert calls == {MAKE: 1, DELETE: 1, "POST /v2/volumes/*/actions": 2}

    last = set_of(*BROKER, *OWN_DISK, NEW, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    assert (bench.fake.droplets, bench.fake.volumes) == ({}, {})
    assert set(bench.fake.calls) <= OF_CALLS.keys(), "docs/clouds/policies/digitalocean.yaml"
    files = [path for path in (tmp_path / "states").rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    assert [str(path) for path in files if TOKEN.encode() in path.read_bytes()] == []
    spent.is_told_in_the_docs("digitalocean")


@pytest.mark.soak
def test_a_change_no_intent_names_is_refused(bench: DigitaloceanBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0"), instance("b-1")))
    bench.execute(surge(wanted))
    bench.fake.power_cut(int(bench.vm("b-1.g1").id))
    more = bench.hands.here(resources(instance("b-0"), instance("b-1"), instance("b-2")))
    with pytest.raises(UnsafeChange, match=r"instance/b-1\.g1"):
        bench.execute(surge(more, only=frozenset({"instance/b-2.g1"}), intent="run-2"))
    assert [i.key for i in bench.listing().instances] == ["b-0.g1"]
    told = surge(more, only=frozenset({"instance/b-2.g1"}), intent="run-3")
    rest = bench.hands.here(resources(instance("b-0"), instance("b-2")))
    bench.execute(replace(told, resources=rest, forget=frozenset({"instance/b-1.g1"})))
    assert [i.key for i in bench.listing().instances] == ["b-0.g1", "b-2.g1"]


def test_a_surge_beyond_the_droplet_limit_is_refused_with_the_limit_and_makes_nothing(bench: DigitaloceanBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0")))
    bench.fake.droplet_limit = 0
    with pytest.raises(QuotaExceeded, match="droplet_limit: 1 VMs more are needed"):
        bench.execute(surge(wanted))
    assert bench.fake.droplets == {}


def test_digitaloceans_own_words_arrive_typed(bench: DigitaloceanBench) -> None:
    """What Terraform is told, after all that was asked before it has found nothing in the way."""
    wanted = bench.hands.here(resources(instance("b-0")))
    full = "creating this/these droplet(s) will exceed your droplet limit"
    bench.fake.faults.append(Fault(MAKE, "unprocessable_entity", 422, message=full))
    with pytest.raises(QuotaExceeded, match="exceed your droplet limit"):
        bench.execute(surge(wanted))
    bench.fake.faults.append(Fault(MAKE, "unauthorized", 401, message="Unable to authenticate you"))
    with pytest.raises(AuthFailed, match="Unable to authenticate you"):
        bench.execute(surge(wanted))
    assert bench.fake.droplets == {}


def test_a_vm_made_while_terraform_was_killed_is_taken_up_by_the_same_run(bench: DigitaloceanBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0")))
    bench.kill_during(surge(wanted), MAKE)
    with pytest.raises(TerraformFailed, match="exit code"):
        bench.execute(surge(wanted))
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted))
    assert again.imported == ('module.kedge.digitalocean_droplet.instance["b-0.g1"]',)
    assert (again.changed, again.done_before) == ((), ("instance/b-0.g1",))
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.fake.calls[MAKE], bench.fake.calls[DELETE]) == (1, 0)


@pytest.mark.soak
def test_an_interrupted_surge_is_taken_up_again_without_a_twin(bench: DigitaloceanBench) -> None:
    wanted = bench.hands.here(resources(instance("b-0"), volume("b-0")))
    bench.fake.pending_polls = 100  # it does not become active before we stop
    stop, answer = threading.Event(), bench.fake.answer

    def stop_once_it_is_made(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if method == "GET" and bench.fake.calls[MAKE]:
            stop.set()
        return answer(method, path, headers, body)

    bench.fake.answering = stop_once_it_is_made
    with pytest.raises(RunInterrupted, match="its state is saved"):
        bench.execute(surge(wanted), stop=stop)
    bench.fake.answering = None
    bench.fake.settle()
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted))
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.fake.calls[MAKE], bench.fake.calls[DELETE]) == (1, 0)


@pytest.mark.soak
def test_a_lost_state_is_made_again_from_what_exists(bench: DigitaloceanBench) -> None:
    stands = bench.hands.here(resources(*BROKER, *OWN_DISK))
    bench.hands.create(resources(*BROKER, *OWN_DISK))
    before = bench.listing()
    wanted = bench.hands.here(resources(*BROKER, *OWN_DISK, instance("b-0", 2)))
    named = frozenset({"instance/b-0.g2"})
    result = bench.execute(replace(surge(wanted, only=named, intent="run-2"), adopts=stands))
    assert set(result.changed) == named
    assert len(result.imported) == 6
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)
    assert {i.id for i in before.instances} < {i.id for i in bench.listing().instances}
    assert bench.fake.calls[DELETE] == 0


def test_a_node_that_is_to_own_an_address_is_refused_before_terraform_starts(bench: DigitaloceanBench) -> None:
    wanted = replace(resources(address("c-0")), place=PLACE)
    with pytest.raises(PlaceUnknown, match=r"c-0 cannot own an address.*new bootstrap list"):
        bench.execute(surge(wanted))
    assert not bench.fake.calls


def is_as_the_module_promises(bench: DigitaloceanBench) -> None:
    """Boot data as it was, in the network and behind the firewall, no way in by the console."""
    first = int(bench.vm("b-0.g1").id)
    assert files_of(bench.fake.user_data[first])[BOOT_FILE] == BROKER[0].boot_data
    for droplet in bench.fake.droplets.values():
        assert droplet["vpc_uuid"] == VPC
        assert FIREWALL_TAG in droplet["tags"]
    assert len({v["name"] for v in bench.fake.volumes.values()}) == 3


def writes_of(bench: DigitaloceanBench) -> dict[str, int]:
    """Calls that changed something, without those that were told to wait for the VM's other action."""
    calls = {k: n for k, n in bench.fake.calls.items() if not k.startswith("GET")}
    calls["POST /v2/volumes/*/actions"] = sum(a["type"].endswith("_volume") for a in bench.fake.actions.values())
    return calls
