"""A cluster's whole life at Hetzner: the real Terraform, the vendor's provider 1.68.0, and a fake on a loopback port.

Each run goes through the guard as in production. Where the fake is known to differ from Hetzner is told in
tests/fakes/clouds/differences.md.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState, RunKind, TerraformRun
from providers.cloud_init import BOOT_FILE
from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    NoCapacity,
    QuotaExceeded,
    ResourceConflict,
    RunInterrupted,
    TerraformFailed,
    UnsafeChange,
)
from providers.hetzner.cloud import HetznerCloud
from providers.tf.state_file import state_file
from tests.borndata import files_of
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import OTHER_TOKEN, TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE, in_place, write_settings
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, run, surge, targets, volume
from tests.terraform.hetznerlife import HetznerBench, hcloud_plugins
from tests.terraform.spent import CONTROLLER, GONE, NOTHING, VM, Spent

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
KEPT = (volume("c-0", "meta", zone="c"), address("c-0", zone="c"))
OLD = instance("c-0", zone="c")
NEW = instance("c-0", 2, zone="c")
ON_OLD = (attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
ON_NEW = (attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))

HANDOVER = {"attachment/c-0.g1.meta", "binding/c-0.g1"}
HANDED = {"attachment/c-0.g2.meta", "binding/c-0.g2"}

SURGE_ALONE = "the surge of a controller's server"
CALLS_OF_ITS_PAGE = {
    "a run that finds nothing to do": NOTHING,
    "one controller replaced: surge, release, bind, retire": CONTROLLER,
    "of which the surge of its server": SURGE_ALONE,
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerBench]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        settings = write_settings(tmp_path / "hetzner.yaml", hetzner, plugins=hcloud_plugins())
        yield HetznerBench(HetznerCloud("test", settings), hetzner, tmp_path / "states")


def set_of(*parts: Any) -> Any:
    return in_place(resources(*parts))


def test_a_volume_grows_at_hetzner_under_a_server_that_runs_on(bench: HetznerBench) -> None:
    """By the real provider: the module of grow runs is valid, its plan sees the size, and nothing else is changed."""
    there = set_of(*BROKER, *OWN_DISK)
    bench.execute(surge(there))
    (before,) = bench.listing().volumes
    grown = tuple(replace(v, size_gib=50) if v.key == before.key else v for v in there.volumes)
    asked = replace(run(RunKind.GROW, replace(there, volumes=grown)), grows={f"volume/{before.key}": 50})
    bench.hetzner.calls.clear()
    assert bench.execute(asked).changed == (f"volume/{before.key}",)
    assert bench.listing().volumes == (replace(before, size_gib=50),)
    assert list(writes(bench.hetzner.calls).values()) == [1], writes(bench.hetzner.calls)
    assert bench.execute(asked).changed == ()


def test_a_cluster_lives_and_leaves_nothing_at_hetzner(bench: HetznerBench, tmp_path: Path) -> None:
    began = time.perf_counter()
    bench.hetzner.running_polls = 1
    first = set_of(*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    made = bench.execute(surge(first))
    assert set(made.changed) == targets(first)
    owned = bench.listing().node_addresses[UID, "c-0"]
    assert {i.key: (i.state, i.volumes, i.addresses, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1",), (), "fsn1"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), (), "hel1"),
        "c-0.g1": (InstanceState.RUNNING, ("c-0.meta.v1",), (owned,), "nbg1"),
    }
    is_as_the_module_promises(bench)

    spent = Spent(bench.hetzner.calls, lambda call: not call.startswith("GET"))
    with spent.on(NOTHING):
        again = bench.execute(surge(first))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert spent.written(NOTHING) == {}

    # Actions over at once: while one runs its server is locked, and what the provider tries again would be counted too.
    bench.hetzner.running_polls = 0
    both = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_OLD)
    spent.on_asking_ahead(bench.cloud, both, "instance/c-0.g2")
    with spent.on(VM, CONTROLLER, SURGE_ALONE):
        grown = bench.execute(surge(both, only=frozenset({"instance/c-0.g2"}), intent="run-2"))
    assert grown.changed == ("instance/c-0.g2",)

    with spent.on(CONTROLLER):
        bench.execute(run(RunKind.RELEASE, both, deletes=HANDOVER, intent="run-3"))
    assert {(i.key, i.volumes, i.addresses) for i in bench.listing().instances if i.node == "c-0"} == {
        ("c-0.g1", (), ()),
        ("c-0.g2", (), ()),
    }
    assert bench.listing().node_addresses[UID, "c-0"] == owned
    after = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_NEW)
    with spent.on(CONTROLLER):
        bench.execute(run(RunKind.BIND, after, creates=HANDED, intent="run-4"))
    assert (bench.vm("c-0.g2").volumes, bench.vm("c-0.g2").addresses) == (("c-0.meta.v1",), (owned,))

    old = bench.vm("c-0.g1").id
    with spent.on(VM, CONTROLLER):
        retired = bench.execute(run(RunKind.RETIRE, after, deletes={"instance/c-0.g1"}, intent="run-5"))
    assert retired.changed == ("instance/c-0.g1",)
    with spent.on(GONE):
        assert bench.cloud.describe(after.place, [old]) == {old: InstanceState.GONE}
    assert {i.key for i in bench.listing().instances} == {"b-0.g1", "b-1.g1", "c-0.g2"}

    last = set_of(*BROKER, *OWN_DISK, NEW, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    listing = bench.listing()
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})
    assert (bench.hetzner.project.servers, bench.hetzner.project.volumes) == ({}, {})
    holds_no_secret(tmp_path / "states")
    print(f"a life in {time.perf_counter() - began:.1f} s; a replaced controller writes {spent.written(CONTROLLER)}")
    spent.is_told_in_the_docs("hetzner")
    spent.is_told_on_its_page("hetzner", CALLS_OF_ITS_PAGE)


def test_hetzners_own_words_arrive_typed(bench: HetznerBench) -> None:
    wanted = set_of(instance("b-0"))
    bench.hetzner.faults.append(Fault("POST /servers", "resource_unavailable", 412))
    with pytest.raises(NoCapacity, match="resource_unavailable"):
        bench.execute(surge(wanted))
    bench.hetzner.project.most_servers = 0
    with pytest.raises(QuotaExceeded, match="server limit exceeded"):
        bench.execute(surge(wanted))
    bench.hetzner.project.most_servers = 10
    assert bench.listing().instances == ()
    assert bench.execute(surge(wanted)).changed == ("instance/b-0.g1",)


def test_a_token_of_another_project_starts_no_run(bench: HetznerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = set_of(instance("b-0"))
    monkeypatch.setenv("HCLOUD_TOKEN", OTHER_TOKEN)
    strange = HetznerCloud("test", bench.cloud.settings_file)
    with pytest.raises(AuthFailed, match="another project"):
        HetznerBench(strange, bench.hetzner, bench.state_root).execute(surge(wanted))
    assert writes(bench.hetzner.calls) == {}


def test_a_plan_that_does_more_than_its_run_is_refused(bench: HetznerBench) -> None:
    first = set_of(*BROKER)
    bench.execute(surge(first))
    bench.hetzner.calls.clear()
    more = set_of(*BROKER, instance("b-1", zone="b"))
    with pytest.raises(UnsafeChange) as refused:
        bench.execute(surge(more, only=frozenset(), intent="run-2"))
    assert refused.value.targets == ("instance/b-1.g1",)
    # A dead VM is wanted back by no run but its own.
    bench.hetzner.project.delete_server(int(bench.vm("b-0.g1").id))
    with pytest.raises(UnsafeChange, match="dead VM wanted back"):
        bench.execute(surge(first, only=frozenset(), intent="run-3"))
    assert writes(bench.hetzner.calls) == {}


@pytest.mark.soak
def test_a_dead_vms_address_and_volume_pass_on_without_it(bench: HetznerBench) -> None:
    first = set_of(OLD, *KEPT, *ON_OLD)
    bench.execute(surge(first))
    owned = bench.listing().node_addresses[UID, "c-0"]
    both = set_of(OLD, NEW, *KEPT, *ON_OLD)
    bench.execute(surge(both, only=frozenset({"instance/c-0.g2"}), intent="run-2"))
    bench.hetzner.project.delete_server(int(bench.vm("c-0.g1").id))
    after = set_of(NEW, *KEPT, *ON_NEW)
    gone = {"instance/c-0.g1", *HANDOVER}
    bench.execute(run(RunKind.BIND, after, creates=HANDED, forget=gone, intent="run-3"))
    assert (bench.vm("c-0.g2").volumes, bench.vm("c-0.g2").addresses) == (("c-0.meta.v1",), (owned,))


def test_an_interrupted_surge_is_taken_up_again_without_a_twin(bench: HetznerBench) -> None:
    wanted = set_of(instance("b-0"), volume("b-0"))
    stop, answer = threading.Event(), bench.hetzner.answer

    def stop_once_it_is_known(method: str, path: str, token: str, body: bytes) -> Any:
        # The VM is made and started, and the provider looks at it once more. Earlier, while it starts the VM, it would
        # go on trying for as long as a stop may last.
        if method == "GET" and bench.hetzner.calls["POST /servers/ID/actions/poweron"]:
            stop.set()
        return answer(method, path, token, body)

    bench.hetzner.answering = stop_once_it_is_known
    with pytest.raises(RunInterrupted, match="its state is saved"):
        bench.execute(surge(wanted), stop=stop)
    bench.hetzner.answering = None
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted))
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.hetzner.calls["POST /servers"], bench.hetzner.calls["DELETE /servers/ID"]) == (1, 0)


def test_a_surge_killed_while_its_vm_is_made_leaves_one_vm_that_the_same_run_imports(bench: HetznerBench) -> None:
    wanted = set_of(instance("b-0"))
    bench.kill_during(surge(wanted), "POST /servers")
    with pytest.raises(TerraformFailed, match="exit code"):
        bench.execute(surge(wanted))
    (left,) = bench.listing().instances
    # Made, in no network yet and never started: the provider does that by calls of their own.
    assert (left.intent_id, left.state, left.address) == ("intent-b-0.g1", InstanceState.STOPPING, None)
    again = bench.execute(surge(wanted))
    assert again.imported == ('module.kedge.hcloud_server.instance["b-0.g1"]',)
    assert (again.changed, again.done_before, again.instances) == ((), ("instance/b-0.g1",), {"b-0.g1": left.id})
    assert [i.id for i in bench.listing().instances] == [left.id]
    assert (bench.hetzner.calls["POST /servers"], bench.hetzner.calls["DELETE /servers/ID"]) == (1, 0)
    bench.execute(run(RunKind.RETIRE, wanted, deletes={"instance/b-0.g1"}, intent="run-2"))
    assert bench.hetzner.project.servers == {}


@pytest.mark.soak
@pytest.mark.parametrize("status", [500, 504], ids=["told once", "tried again by the provider"])
def test_a_vm_that_was_made_though_its_call_failed_is_imported(status: int, bench: HetznerBench) -> None:
    wanted = set_of(instance("b-0"))
    code = "server_error" if status == 500 else "timeout"
    bench.hetzner.faults.append(Fault("POST /servers", code, status, done=True))
    with pytest.raises((CloudUnavailable, ResourceConflict)):
        bench.execute(surge(wanted))
    (made,) = bench.hetzner.project.servers
    again = bench.execute(surge(wanted))
    assert (again.changed, again.instances) == ((), {"b-0.g1": str(made)})
    assert list(bench.hetzner.project.servers) == [made]


@pytest.mark.soak
def test_a_vm_made_twice_is_refused_by_its_name(bench: HetznerBench) -> None:
    wanted = set_of(instance("b-0"))
    bench.execute(surge(wanted))
    # A listing that does not show the VM yet, and a state that is lost: nothing of Kedge knows of it.
    bench.hetzner.project.servers[int(bench.vm("b-0.g1").id)]["labels"] = {}
    state_file(bench.state_root, UID, PLACE).set_aside("lost")
    with pytest.raises(ResourceConflict, match="uniqueness_error"):
        bench.execute(surge(wanted))
    assert len(bench.hetzner.project.servers) == 1


@pytest.mark.soak
def test_what_hangs_on_a_vm_and_was_made_while_terraform_was_killed_is_imported(bench: HetznerBench) -> None:
    wanted = set_of(OLD, *KEPT, *ON_OLD)
    kills = killed_until_done(bench, surge(wanted), "POST /volumes", "/actions/poweron", "/actions/attach")
    assert kills >= 2, "what hangs on a VM is made after it"
    made = {call: n for call, n in writes(bench.hetzner.calls).items() if call.startswith("POST")}
    assert set(made.values()) <= {1, 2}, made
    assert (made["POST /servers"], made["POST /volumes"], made["POST /volumes/ID/actions/attach"]) == (1, 1, 1)
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)
    assert bench.vm("c-0.g1").state is InstanceState.RUNNING

    # The same VM gives up what it holds and takes it again, each run killed once in between: never less than 5 kills.
    while kills < 5:
        released = run(RunKind.RELEASE, wanted, deletes=HANDOVER, intent="run-2")
        kills += killed_until_done(bench, released, "/actions/detach")
        assert bench.vm("c-0.g1").volumes == ()
        bound = run(RunKind.BIND, wanted, creates=HANDOVER, intent="run-3")
        kills += killed_until_done(bench, bound, "/actions/attach")
        assert bench.vm("c-0.g1").volumes == ("c-0.meta.v1",)
    assert len(bench.hetzner.project.servers) == len(bench.hetzner.project.volumes) == 1
    print(f"{kills} kills")


def killed_until_done(bench: HetznerBench, asked: TerraformRun, *calls: str) -> int:
    """Terraform is killed once in each of `calls`, and the run is made again until it ends well: how often it was."""
    bench.kill_during(asked, *calls)
    for kills in range(len(calls) + 1):
        try:
            bench.execute(asked)
        except TerraformFailed:
            continue
        return kills
    raise AssertionError(f"{asked.kind} did not end after {len(calls)} kills")


@pytest.mark.soak
def test_a_lost_state_is_made_again_from_what_exists(bench: HetznerBench) -> None:
    stands = set_of(*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    bench.execute(surge(stands))
    before = bench.listing()
    state_file(bench.state_root, UID, PLACE).set_aside("lost")
    wanted = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_OLD)
    named = frozenset({"instance/c-0.g2"})
    bench.hetzner.calls.clear()
    result = bench.execute(replace(surge(wanted, only=named, intent="run-2"), adopts=stands))
    assert (result.changed, len(result.imported)) == (("instance/c-0.g2",), 8)
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)
    assert bench.listing().node_addresses == before.node_addresses
    assert "DELETE /servers/ID" not in bench.hetzner.calls
    bench.execute(run(RunKind.RELEASE, wanted, deletes=HANDOVER, intent="run-3"))
    after = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.BIND, after, creates=HANDED, intent="run-4"))
    owned = before.node_addresses[UID, "c-0"]
    assert (bench.vm("c-0.g2").volumes, bench.vm("c-0.g2").addresses) == (("c-0.meta.v1",), (owned,))


def writes(calls: Counter[str]) -> dict[str, int]:
    """What was asked for that changes something."""
    return {call: n for call, n in sorted(calls.items()) if not call.startswith("GET")}


def is_as_the_module_promises(bench: HetznerBench) -> None:
    """No public address, two networks each, one group for all, boot data as it was, no image by name."""
    project = bench.hetzner.project
    for server in project.servers.values():
        assert (server["public_net"]["ipv4"], server["public_net"]["ipv6"]) == (None, None)
        assert len(server["private_net"]) == 2
    assert len({server["placement_group"]["id"] for server in project.servers.values()}) == 1
    assert len({server["name"] for server in project.servers.values()}) == 3
    assert all(len(server["name"]) <= 63 for server in project.servers.values())
    assert files_of(project.user_data[int(bench.vm("b-0.g1").id)])[BOOT_FILE] == BROKER[0].boot_data


def holds_no_secret(folder: Path) -> None:
    """No file a run leaves has the token or the password; nor has the state the boot data, which holds a token."""
    left = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "terraform.tfstate" for path in left)
    for path in left:
        body = path.read_bytes()
        assert TOKEN.encode() not in body, path
        assert b"not-to-be-kept" not in body, path
        assert b"$(id)" not in body, path
