"""What is Hetzner's own: pages, throttles, tokens of another project, answers of proxies, labels of others, groups."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hcloud.locations.domain import Location
from hcloud.servers.domain import Server
from hcloud.volumes.domain import Volume

from providers import tags
from providers.base import InstanceState, Resources
from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    PlaceUnknown,
    RateLimited,
)
from providers.handover import DeclaresHandover, Handover
from providers.hetzner.cloud import HetznerCloud
from providers.tf.abilities import GivesEnvironment, RecognisesErrors
from providers.traces import SeesForeignVms
from tests.fakes.clock import Clock
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import OTHER_TOKEN, TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE, HetznerHarness, write_settings
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import address, binding, instance, resources, volume

NEVER_THERE = "987654321"


@dataclass
class Bench(HetznerHarness):
    """The harness of the suite, a clock, and clouds like its own."""

    file: Path = Path()
    clock: Clock = field(default_factory=Clock)

    def another(self, *, installation_id: str = "test", attempts: int = 1, page: int = 50) -> HetznerCloud:
        clock = self.clock
        cloud = HetznerCloud(installation_id, self.file, attempts=attempts, page=page, clock=clock, sleep=clock.sleep)
        return at_once(cloud, PLACE)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        file, clock = write_settings(tmp_path / "hetzner.yaml", hetzner), Clock()
        cloud = HetznerCloud("test", file, attempts=1, clock=clock, sleep=clock.sleep)
        yield Bench(cloud, hetzner, file=file, clock=clock)


def nodes(count: int) -> tuple[Any, ...]:
    return tuple(instance(f"n-{i}") for i in range(count))


def test_it_can_what_terraform_and_a_handover_ask_for(bench: Bench) -> None:
    for ability in (GivesEnvironment, RecognisesErrors, SeesForeignVms, DeclaresHandover):
        assert isinstance(bench.cloud, ability)
    assert bench.cloud.handover() is Handover.REBIND


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.hetzner.calls.clear()
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert bench.hetzner.calls == {"GET /networks/ID": 2, "GET /servers": 3, "GET /volumes": 1}


def test_a_page_that_fails_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.hetzner.faults.append(Fault("GET /servers", "server_error", skip=2))
    with pytest.raises(CloudUnavailable, match="server_error"):
        bench.another(page=5).list_place(PLACE)


def test_a_vm_that_moves_onto_a_page_that_was_read_is_not_missed(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    doomed = min(bench.hetzner.project.servers)
    answer = bench.hetzner.answer

    def delete_behind_the_first_page(method: str, path: str, token: str, body: bytes) -> Any:
        if "/servers?" in path and "page=2" in path:
            bench.hetzner.project.servers.pop(doomed, None)
        return answer(method, path, token, body)

    bench.hetzner.answering = delete_behind_the_first_page
    listing = bench.another(page=5).list_place(PLACE)
    assert {i.node for i in listing.instances} == {f"n-{i}" for i in range(12)}
    # It was told once, so it is in the listing; of its id Hetzner says the truth.
    assert bench.another().describe(PLACE, [str(doomed)]) == {str(doomed): InstanceState.GONE}


def test_a_throttled_page_is_asked_for_again_when_hetzner_says(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    wait = {"Retry-After": "3"}
    bench.hetzner.faults.append(Fault("GET /servers", "rate_limit_exceeded", 429, skip=1, headers=wait))
    assert len(bench.another(page=5, attempts=2).list_place(PLACE).instances) == 7
    assert bench.clock.slept == [3.0]


def test_nobody_waits_longer_than_a_call_may_last(bench: Bench) -> None:
    wait = {"Retry-After": "3600"}
    bench.hetzner.faults.append(Fault("GET /servers", "rate_limit_exceeded", 429, headers=wait))
    with pytest.raises(RateLimited, match=r"hetzner/production/eu-central: listing"):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.clock.slept == []


def test_a_throttle_that_lasts_is_told(bench: Bench) -> None:
    bench.hetzner.faults.append(Fault("GET /servers", "rate_limit_exceeded", 429, times=3))
    with pytest.raises(RateLimited, match=r"listing.*rate_limit_exceeded"):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.clock.slept == [0.5, 1.0]


def test_a_connection_that_breaks_is_made_again(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.hetzner.answering = lambda *_: (_ for _ in ()).throw(ConnectionAbortedError)
    with pytest.raises(CloudUnavailable):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.clock.slept == [0.5, 1.0]


def test_a_deletion_that_may_have_been_done_is_not_asked_for_again(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.hetzner.faults.append(Fault("DELETE /servers/ID", "bad_gateway", 502, done=True))
    with pytest.raises(CloudUnavailable, match="bad_gateway"):
        bench.another(attempts=3).terminate(PLACE, bench.id_of("n-0.g1"))
    assert bench.hetzner.calls["DELETE /servers/ID"] == 1
    assert bench.cloud.list_place(PLACE).instances == ()


def test_not_found_is_gone_by_the_token_of_the_right_project(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_an_id_it_has_no_time_to_ask_for_is_left_out(bench: Bench) -> None:
    ids = [str(n) for n in range(500_000, 500_030)]
    assert set(bench.cloud.describe(PLACE, ids)) == set(ids[:20])


def test_a_404_that_is_not_hetzners_says_nothing_of_a_vm(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.cloud.list_place(PLACE)
    bench.hetzner.answering = lambda *_: (404, {"Content-Type": "text/html"}, b"<html>no such page</html>")
    with pytest.raises(CloudUnavailable, match="404"):
        bench.cloud.describe(PLACE, [bench.id_of("n-0.g1")])


@pytest.mark.parametrize("word", ["off", "stopping", "deleting", "migrating", "rebuilding", "unknown", "a-new-word"])
def test_a_vm_that_does_not_run_is_not_gone(word: str, bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    bench.hetzner.project.servers[int(vm)]["status"] = word
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [InstanceState.STOPPING]
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.STOPPING}


def test_a_token_of_another_project_is_refused_before_anything_is_believed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(resources(*nodes(1)))
    monkeypatch.setenv("HCLOUD_TOKEN", OTHER_TOKEN)
    bench.hetzner.calls.clear()
    with pytest.raises(AuthFailed, match=r"HCLOUD_TOKEN sees no network \d+: it is of another project"):
        bench.another().list_place(PLACE)
    with pytest.raises(AuthFailed):
        bench.another().terraform_environment(PLACE)
    assert set(bench.hetzner.calls) == {"GET /networks/ID"}


def test_a_project_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    # Whoever answers now has another project behind the same token.
    bench.hetzner.projects[TOKEN] = bench.hetzner.projects[OTHER_TOKEN]
    with pytest.raises(AuthFailed):
        bench.cloud.describe(PLACE, [vm])


def test_a_network_of_another_region_is_refused(bench: Bench) -> None:
    text = bench.file.read_text().replace("us-east:", "us-west:")
    bench.file.write_text(text)
    place = bench.second
    with pytest.raises(PlaceUnknown, match="has subnets in us-east"):
        bench.another().list_place(type(place)(place.cloud, "us-west", place.account))


def test_a_token_that_is_refused_says_so(bench: Bench) -> None:
    bench.hetzner.faults.append(Fault("*", "unauthorized", 401))
    with pytest.raises(AuthFailed, match="unauthorized"):
        bench.cloud.list_place(PLACE)


def test_without_a_token_the_variable_is_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HCLOUD_TOKEN")
    with pytest.raises(AuthFailed, match="no HCLOUD_TOKEN"):
        bench.another().list_place(PLACE)


def test_a_vm_with_our_label_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    bench.hetzner.project.servers[int(bench.id_of("n-1.g1"))]["labels"] = {tags.INSTALLATION: "test"}
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


@pytest.mark.parametrize(
    "spoilt",
    [
        {tags.GENERATION: "one"},
        {tags.NODE: "b32.2.mfrgg"},
        {tags.INTENT: "b32.1.00000"},
        {tags.CLUSTER_UID: ""},
    ],
    ids=["generation", "half a value", "no base32", "empty"],
)
def test_a_vm_with_strange_labels_is_nobodys(spoilt: dict[str, str], bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.hetzner.project.servers[int(bench.id_of("n-0.g1"))]["labels"] |= spoilt
    assert bench.cloud.list_place(PLACE).instances == ()


def test_a_vm_that_was_made_though_its_call_failed_is_listed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.hetzner.faults.append(Fault("GET /servers", "server_error", done=True))
    with pytest.raises(CloudUnavailable):
        bench.cloud.list_place(PLACE)
    assert len(bench.cloud.list_place(PLACE).instances) == 1


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(volume("n-0"), instance("n-0")))
    (disk,) = bench.hetzner.project.volumes.values()
    foreign = bench.hetzner.project.servers[int(bench.id_of("n-0.g1"))]
    foreign["labels"], disk["server"] = {}, foreign["id"]
    assert [v.attached_to for v in bench.cloud.list_place(PLACE).volumes] == [str(foreign["id"])]


def test_a_machine_tells_its_size_and_version_by_our_names(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.shape, seen.image, seen.cluster_name) == ("small", "4.1.1", "orders")


def test_the_token_goes_into_terraforms_environment_and_nowhere_else(bench: Bench) -> None:
    environment = bench.cloud.terraform_environment(PLACE)
    assert environment["HCLOUD_TOKEN"] == TOKEN
    assert environment["HCLOUD_ENDPOINT"] == bench.hetzner.url
    wanted = bench.here(resources(*nodes(1)))
    told = f"{bench.cloud} {bench.cloud.variables(wanted)} {bench.cloud.list_place(PLACE)} {bench.file.read_text()}"
    assert TOKEN not in told


def test_vms_fill_groups_of_ten_and_no_more(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    sizes = [len(group["servers"]) for group in bench.hetzner.project.kinds["placement_groups"].values()]
    assert sorted(sizes) == [0, 0, 2, 10]
    bench.cloud.list_place(PLACE)
    more = bench.here(resources(*nodes(12), *(instance(f"m-{i}") for i in range(9))))
    made: Any = bench.cloud.variables(more)
    # One too many is for Hetzner to refuse: the same variables are those of runs that make nothing.
    assert len([name for name in made["cloud"] if name.startswith("placement_group_")]) == 21


def test_a_node_keeps_the_address_that_its_vms_carry(bench: Bench) -> None:
    wanted = bench.here(resources(instance("c-0"), address("c-0")))
    bench.create(wanted)
    listed = bench.cloud.list_place(PLACE)
    # Bound to none of its VMs just now, as between the two runs of a handover.
    ((owner, owned),) = listed.node_addresses.items()
    assert owner == (wanted.cluster_uid, "c-0")
    made: Any = bench.another().variables(wanted)
    assert made["addresses"]["c-0"]["address"] == owned


def test_two_clusters_with_nodes_of_one_name_get_two_addresses(bench: Bench) -> None:
    def owned(wanted: Resources) -> str:
        bench.create(wanted)
        return bench.cloud.list_place(PLACE).node_addresses[wanted.cluster_uid, "c-0"]

    clusters = [resources(instance("c-0"), address("c-0"), uid=f"uid{n}") for n in range(8)]
    assert len({owned(wanted) for wanted in clusters}) == 8


def test_a_group_that_another_installation_has_filled_is_passed_by(bench: Bench) -> None:
    """Hetzner would refuse the VM, and the next try would name the same group again."""
    bench.other_installation().create(resources(*nodes(10), uid="theirs", installation_id="other"))
    bench.create(resources(*nodes(2)))
    sizes = [len(group["servers"]) for group in bench.hetzner.project.kinds["placement_groups"].values()]
    assert sorted(sizes) == [0, 0, 2, 10]


def test_a_nodes_address_is_none_that_another_installation_has(bench: Bench) -> None:
    ours = resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1"))
    free: Any = bench.another().variables(bench.here(ours))
    wanted = replace(address("c-0"), address=free["addresses"]["c-0"]["address"])
    bench.other_installation().create(
        resources(instance("c-0"), wanted, binding("c-0", "c-0.g1"), uid="theirs", installation_id="other")
    )
    bench.create(ours)
    taken = [net["ip"] for server in bench.hetzner.project.servers.values() for net in server["private_net"]]
    assert wanted.address in taken
    assert bench.cloud.list_place(PLACE).node_addresses[ours.cluster_uid, "c-0"] != wanted.address


@pytest.mark.parametrize(("kind", "domain"), [("servers", Server), ("volumes", Volume)], ids=["servers", "volumes"])
def test_the_stand_in_answers_with_everything_hetzners_own_client_knows(kind: str, domain: Any, bench: Bench) -> None:
    bench.create(resources(instance("n-0"), volume("n-0")))
    (one,) = bench.hetzner.project.kinds[kind].values()
    assert set(domain.__api_properties__) <= set(one)
    assert set(Location.__api_properties__) == set(one["location"])


def test_a_server_that_is_away_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        file = write_settings(tmp_path / "hetzner.yaml", hetzner)
    assert isinstance(hetzner, FakeHetzner)
    with pytest.raises(CloudUnavailable, match="network"):
        HetznerCloud("test", file, attempts=1).list_place(PLACE)
