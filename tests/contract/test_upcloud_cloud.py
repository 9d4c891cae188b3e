"""What is UpCloud's own: pages, throttles, another account, ids it never had, disks that stay, labels of others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import requests

from providers.base import InstanceState, Resources
from providers.errors import AuthFailed, CloudUnavailable, NotYetGone, QuotaExceeded, RateLimited
from providers.handover import Handover, handover_of
from providers.tags import INSTALLATION
from providers.upcloud.cloud import SETTLES_S, UpcloudCloud
from providers.upcloud.errors import from_code
from providers.upcloud.tags import ADDRESS, REGION, VOLUME, labels_of
from tests.fakes.clock import Clock
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hurry import at_once
from tests.fakes.clouds.loopback import serving
from tests.fakes.clouds.upcloud import OTHER_USERNAME, TOKEN, UpcloudServer, upcloud_cloud
from tests.fakes.clouds.upcloud_hands import HOME, PLACE, UpcloudHarness, write_settings
from tests.fakes.clouds.upcloud_things import Body, RefusedError
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, volume

NEVER_THERE = "00000000-0000-4000-8000-000000000001"
FIELDS = json.loads((Path(__file__).parents[1] / "fakes" / "clouds" / "upcloud_fields.json").read_text())["types"]
KINDS = {"string": str, "integer": int, "number": (int, float), "object": dict, "list": list}


@dataclass
class Bench(UpcloudHarness):
    """The harness of the suite, a clock, and clouds like its own."""

    file: Path = Path()
    clock: Clock = field(default_factory=Clock)

    def another(self, *, installation_id: str = "test", attempts: int = 1, page: int = 100) -> UpcloudCloud:
        clock = self.clock
        cloud = UpcloudCloud(installation_id, self.file, attempts=attempts, page=page, clock=clock, sleep=clock.sleep)
        return at_once(cloud, PLACE)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    with upcloud_cloud() as upcloud:
        file, clock = write_settings(tmp_path / "upcloud.yaml", upcloud), Clock()
        cloud = UpcloudCloud("test", file, attempts=1, clock=clock, sleep=clock.sleep)
        yield Bench(cloud, upcloud, file=file, clock=clock)


def nodes(count: int) -> tuple[Any, ...]:
    return tuple(instance(f"n-{i}") for i in range(count))


def with_disk() -> Resources:
    return resources(instance("n-0"), volume("n-0"), attachment("n-0.g1", "n-0.data.v1"))


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.upcloud.calls.clear()
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert bench.upcloud.calls == {"GetAccount": 1, "ListServers": 3, "ListStorages": 1, "ListIpAddresses": 1}


def test_where_upcloud_tells_how_many_there_are_no_empty_page_is_asked_for(bench: Bench) -> None:
    bench.create(resources(*nodes(10)))
    for tells, pages in ((False, 3), (True, 2)):
        bench.upcloud.tells_total = tells
        bench.upcloud.calls.clear()
        assert len(bench.another(page=5).list_place(PLACE).instances) == 10
        assert bench.upcloud.calls["ListServers"] == pages


def test_a_vm_deleted_between_two_pages_hides_no_other_where_upcloud_tells_how_many_there_are(bench: Bench) -> None:
    bench.upcloud.tells_total = True
    bench.create(resources(*nodes(12)))
    first, asked = bench.id_of("n-0.g1"), bench.upcloud.calls

    def delete_before_the_second_page(action: str) -> None:
        if action == "ListServers" and asked[action] == 2:
            bench.upcloud.things.drop_server(first)

    asked.clear()
    bench.upcloud.watching = delete_before_the_second_page
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(1, 12))
    assert asked["ListServers"] == 6, "three pages, and all of them again"


def test_a_total_that_counts_something_else_is_believed_no_more_than_what_is_listed_twice(bench: Bench) -> None:
    """Nobody has seen UpCloud tell it of servers: were it that of the account, no listing would ever be right."""
    bench.upcloud.tells_total = True
    bench.create(resources(*nodes(4)))
    bench.upcloud.counts_all = True
    bench.upcloud.calls.clear()
    assert len(bench.another(page=5).list_place(PLACE).instances) == 4
    assert bench.upcloud.calls["ListServers"] == 2


def test_a_page_that_fails_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.upcloud.faults.append(Fault("ListServers", "SERVICE_ERROR", 500, skip=2))
    with pytest.raises(CloudUnavailable, match="SERVICE_ERROR"):
        bench.another(page=5).list_place(PLACE)


@pytest.mark.parametrize("part", ["ListStorages", "ListIpAddresses"])
def test_any_part_that_fails_fails_the_listing(bench: Bench, part: str) -> None:
    bench.create(with_disk())
    bench.upcloud.faults.append(Fault(part, "SERVICE_ERROR", 503))
    with pytest.raises(CloudUnavailable, match="SERVICE_ERROR"):
        bench.cloud.list_place(PLACE)


def test_a_throttled_page_is_asked_for_again_after_the_pause_upcloud_wants(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    bench.upcloud.faults.append(Fault("ListServers", "TOO_MANY_REQUESTS", 429, skip=1, headers={"Retry-After": "4"}))
    assert len(bench.another(page=5, attempts=2).list_place(PLACE).instances) == 7
    assert bench.clock.slept == [4.0]


def test_a_pause_that_is_too_long_is_not_slept_through_and_nobody_calls_until_then(bench: Bench) -> None:
    bench.upcloud.faults.append(Fault("ListServers", "TOO_MANY_REQUESTS", 429, headers={"Retry-After": "3600"}))
    cloud = bench.another(attempts=2)
    with pytest.raises(RateLimited, match="TOO_MANY_REQUESTS"):
        cloud.list_place(PLACE)
    assert bench.clock.slept == []
    with pytest.raises(RateLimited, match="the next 1 calls are allowed in"):
        cloud.list_place(PLACE)


def test_a_throttle_that_lasts_is_told(bench: Bench) -> None:
    bench.upcloud.faults.append(Fault("ListServers", "TOO_MANY_REQUESTS", 429, times=2))
    with pytest.raises(RateLimited, match=r"upcloud/production/fi-hel1: listing"):
        bench.another(attempts=2).list_place(PLACE)


def test_what_changes_something_is_not_repeated_after_a_fault_of_the_server(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.upcloud.faults.append(Fault("StopServer", "SERVICE_ERROR", 500, times=3))
    with pytest.raises(CloudUnavailable):
        bench.another(attempts=3).terminate(PLACE, bench.id_of("n-0.g1"))
    assert bench.upcloud.calls["StopServer"] == 1


def test_an_id_upcloud_does_not_have_is_unknown_until_it_was_known_for_long(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += SETTLES_S - 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_a_vm_that_was_seen_and_is_deleted_is_gone_at_once(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.power_cut(seen.id)
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.GONE}


def test_of_many_each_gets_its_answer_in_turn(bench: Bench) -> None:
    bench.create(resources(*nodes(45)))
    ids = [i.id for i in bench.cloud.list_place(PLACE).instances]
    answers = [set(bench.cloud.describe(PLACE, ids)) for _ in range(3)]
    assert [len(a) for a in answers] == [20, 20, 20]
    assert set.union(*answers) == set(ids)


@pytest.mark.parametrize(("status", "code"), [(404, "NOT_FOUND"), (403, "SERVER_FORBIDDEN"), (500, "SERVICE_ERROR")])
def test_another_answer_than_no_such_server_proves_nobody_gone(bench: Bench, status: int, code: str) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.upcloud.faults.append(Fault("GetServer", code, status))
    with pytest.raises(Exception, match=code):
        bench.cloud.describe(PLACE, [seen.id])


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("stopped", InstanceState.STOPPING),
        ("error", InstanceState.STOPPING),
        ("maintenance", InstanceState.PENDING),
        ("a-word-of-next-year", InstanceState.STOPPING),
    ],
)
def test_a_vm_that_does_not_run_is_not_gone(bench: Bench, state: str, expected: InstanceState) -> None:
    bench.create(resources(*nodes(1)))
    bench.cloud.list_place(PLACE)
    bench.upcloud.things.servers[bench.id_of("n-0.g1")]["state"] = state
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [expected]


def test_credentials_of_another_account_are_refused_before_anything_is_believed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.upcloud.username = OTHER_USERNAME
    with pytest.raises(AuthFailed, match=f"of '{OTHER_USERNAME}', the place is account"):
        bench.another().list_place(PLACE)
    assert bench.upcloud.calls["ListServers"] == 0


def test_an_account_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.power_cut(vm)
    bench.upcloud.username = OTHER_USERNAME
    with pytest.raises(AuthFailed, match=OTHER_USERNAME):
        bench.cloud.describe(PLACE, [vm])


def test_another_token_is_proved_before_it_is_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.cloud.list_place(PLACE)
    monkeypatch.setenv("UPCLOUD_TOKEN", "ucat_another")
    bench.upcloud.username = OTHER_USERNAME
    with pytest.raises(AuthFailed, match=OTHER_USERNAME):
        bench.cloud.list_place(PLACE)


def test_a_login_that_is_refused_says_so(bench: Bench) -> None:
    bench.upcloud.faults.append(Fault("*", "AUTHENTICATION_FAILED", 401))
    with pytest.raises(AuthFailed, match="AUTHENTICATION_FAILED"):
        bench.cloud.list_place(PLACE)


def test_a_vm_is_terminated_with_its_root_disk_and_never_with_its_data(bench: Bench) -> None:
    bench.create(with_disk())
    before = dict(bench.upcloud.things.storages)
    data = bench.volume_id("n-0.data.v1", UID)
    root = next(u for u, s in before.items() if s["title"].endswith("-root"))
    bench.cloud.terminate(PLACE, bench.id_of("n-0.g1"))
    assert set(before) - set(bench.upcloud.things.storages) == {root}
    assert [(v.id, v.attached_to) for v in bench.cloud.list_place(PLACE).volumes] == [(data, None)]
    assert bench.upcloud.calls["DeleteServerAndStorages"] == 0


def test_a_disk_of_a_vm_that_is_not_surely_its_root_stays(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    server = bench.id_of("n-0.g1")
    by_hand = bench.upcloud.things.create_storage({"title": "somebodys", "size": "10", "zone": HOME})
    bench.upcloud.things.attach_storage(server, {"storage": by_hand["uuid"]})
    bench.cloud.terminate(PLACE, server)
    assert by_hand["uuid"] in bench.upcloud.things.storages


def test_a_vm_that_takes_long_to_stop_is_left_for_the_next_call(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    server = bench.id_of("n-0.g1")
    bench.cloud.list_place(PLACE)
    bench.upcloud.things.slow = 20
    with pytest.raises(NotYetGone, match="has not stopped yet"):
        bench.cloud.terminate(PLACE, server)
    assert server in bench.upcloud.things.servers
    with pytest.raises(NotYetGone):
        bench.cloud.terminate(PLACE, server)
    bench.cloud.terminate(PLACE, server)
    assert server not in bench.upcloud.things.servers
    assert bench.upcloud.calls["StopServer"] == 1


def test_a_running_server_cannot_be_deleted_and_one_in_maintenance_not_stopped(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    things, server = bench.upcloud.things, bench.id_of("n-0.g1")
    for call in (lambda: things.stop_server(server), lambda: things.delete_server(server)):
        things.servers[server]["state"] = "maintenance"
        things.changing[server] = (5, "started")
        with pytest.raises(RefusedError, match="SERVER_STATE_ILLEGAL"):
            call()


def test_a_vm_with_our_label_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    things = bench.upcloud.things
    hostile = things.servers[bench.id_of("n-1.g1")]
    keep = (INSTALLATION, REGION)
    hostile["labels"]["label"] = [x for x in hostile["labels"]["label"] if x["key"] in keep]
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


@pytest.mark.parametrize("generation", ["", "-1", "two", "²"])
def test_a_generation_that_is_no_number_is_nobodys(bench: Bench, generation: str) -> None:
    bench.create(resources(*nodes(1)))
    for label in bench.upcloud.things.servers[bench.id_of("n-0.g1")]["labels"]["label"]:
        if label["key"] == "kedge-generation":
            label["value"] = generation
    assert bench.cloud.list_place(PLACE).instances == ()


def test_a_twin_is_listed_beside_the_first(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.create(resources(*nodes(1)))
    first, second = bench.cloud.list_place(PLACE).instances
    assert first.key == second.key
    assert first.id != second.id


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(volume("n-0"), *nodes(1)))
    things, server = bench.upcloud.things, bench.id_of("n-0.g1")
    things.attach_storage(server, {"storage": bench.volume_id("n-0.data.v1", UID)})
    things.servers[server]["labels"]["label"] = []
    listing = bench.cloud.list_place(PLACE)
    assert (listing.instances, [v.attached_to for v in listing.volumes]) == ((), [server])


@pytest.mark.parametrize("kind", ["backup", "template"])
def test_a_copy_of_a_disk_is_not_that_disk_though_it_has_its_labels(bench: Bench, kind: str) -> None:
    bench.create(with_disk())
    things = bench.upcloud.things
    disk = things.storages[bench.volume_id("n-0.data.v1", UID)]
    things.storages["copy"] = {**disk, "uuid": "copy", "type": kind, "servers": {"server": []}}
    assert [(v.id, v.attached_to) for v in bench.cloud.list_place(PLACE).volumes] == [(disk["uuid"], "n-0.g1")]


def test_a_server_beyond_the_quota_is_refused_in_words_we_know(bench: Bench) -> None:
    bench.upcloud.things.most_servers = 0
    with pytest.raises(RefusedError) as refused:
        bench.create(resources(*nodes(1)))
    error = refused.value.body["error"]
    assert type(from_code(error["error_code"], "x", status=refused.value.status)) is QuotaExceeded


def test_where_storages_do_not_tell_their_server_what_a_vm_was_made_with_counts(bench: Bench) -> None:
    bench.create(with_disk())
    bench.upcloud.tells_holders = False
    listing = bench.cloud.list_place(PLACE)
    assert [v.attached_to for v in listing.volumes] == ["n-0.g1"]
    assert [i.volumes for i in listing.instances] == [("n-0.data.v1",)]


def test_a_nodes_address_is_known_while_it_has_no_vm(bench: Bench) -> None:
    whole = resources(instance("c-0"), volume("c-0"), address("c-0"), binding("c-0", "c-0.g1"))
    bench.create(whole)
    owned = bench.cloud.list_place(PLACE).node_addresses[UID, "c-0"]
    bench.delete(whole)
    listing = bench.cloud.list_place(PLACE)
    assert (listing.instances, dict(listing.node_addresses)) == ((), {(UID, "c-0"): owned})


def test_where_private_addresses_are_not_told_a_nodes_own_is_known_from_its_label(bench: Bench) -> None:
    bench.create(resources(instance("c-0"), address("c-0"), binding("c-0", "c-0.g1"), instance("b-0")))
    bench.upcloud.tells_private_addresses = False
    told = {i.node: i.address for i in bench.cloud.list_place(PLACE).instances}
    assert told == {"c-0": bench.cloud.list_place(PLACE).node_addresses[UID, "c-0"], "b-0": None}


def test_an_address_of_another_cluster_is_not_chosen_a_second_time(bench: Bench) -> None:
    def of_c0(uid: str) -> str:
        rendered: Any = bench.another().variables(bench.here(resources(address("c-0"), uid=uid)))
        return str(rendered["addresses"]["c-0"]["address"])

    theirs = of_c0("bbb")
    bench.create(resources(volume("x-0"), address("x-0"), uid="aaa"))
    (disk,) = (s for s in bench.upcloud.things.storages.values() if VOLUME in labels_of(s))
    next(x for x in disk["labels"] if x["key"] == ADDRESS)["value"] = theirs
    assert of_c0("bbb") != theirs


@pytest.mark.parametrize("has_a_vm", [True, False], ids=["on a VM", "on a disk alone"])
def test_a_nodes_address_is_none_that_another_installation_has(bench: Bench, has_a_vm: bool) -> None:
    ours = resources(address("c-0"))
    free: Any = bench.another().variables(bench.here(ours))
    wanted = replace(address("c-0"), address=free["addresses"]["c-0"]["address"])
    vm = (instance("c-0"), binding("c-0", "c-0.g1")) if has_a_vm else ()
    bench.other_installation().create(
        resources(volume("c-0", "meta"), *vm, wanted, uid="theirs", installation_id="other")
    )
    chosen: Any = bench.another().variables(bench.here(ours))
    assert chosen["addresses"]["c-0"]["address"] != wanted.address


def test_a_machine_tells_its_size_and_version_by_our_names(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.shape, seen.image, seen.cluster_name) == ("small", "4.1.1", "orders")


def test_disks_and_addresses_pass_by_deleting_the_old_vm_first(bench: Bench) -> None:
    assert handover_of(bench.cloud) is Handover.DELETE_FIRST


def test_credentials_go_into_terraforms_environment_and_nowhere_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPCLOUD_TOKEN", "canary-secret")
    environment = bench.cloud.terraform_environment(PLACE)
    assert (environment["UPCLOUD_TOKEN"], environment["UPCLOUD_DEBUG_API_BASE_URL"]) == (
        "canary-secret",
        bench.upcloud.url,
    )
    wanted = bench.here(resources(*nodes(1)))
    told = f"{bench.cloud} {bench.cloud.variables(wanted)} {bench.cloud.list_place(PLACE)} {bench.file.read_text()}"
    assert "canary-secret" not in told


def test_a_user_name_with_its_password_will_do_and_a_token_counts_before_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given() -> set[str]:
        return {name for name in bench.cloud.terraform_environment(PLACE) if name.startswith("UPCLOUD_")}

    monkeypatch.setenv("UPCLOUD_USERNAME", "kedge")
    monkeypatch.setenv("UPCLOUD_PASSWORD", "canary-secret")
    assert given() == {"UPCLOUD_TOKEN", "UPCLOUD_DEBUG_API_BASE_URL"}
    monkeypatch.delenv("UPCLOUD_TOKEN")
    assert given() == {"UPCLOUD_USERNAME", "UPCLOUD_PASSWORD", "UPCLOUD_DEBUG_API_BASE_URL"}


def test_an_account_profile_may_name_a_variable_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.file.write_text(
        bench.file.read_text().replace("username:", "token_variable: UPCLOUD_TOKEN_PROD\n    username:")
    )
    with pytest.raises(AuthFailed, match="variable UPCLOUD_TOKEN_PROD is empty"):
        bench.another().list_place(PLACE)
    monkeypatch.setenv("UPCLOUD_TOKEN_PROD", "ucat_prod")
    assert bench.another().terraform_environment(PLACE)["UPCLOUD_TOKEN"] == "ucat_prod"


def test_terraform_gets_no_credentials_of_another_account(bench: Bench) -> None:
    bench.cloud.list_place(PLACE)
    bench.upcloud.username = OTHER_USERNAME
    with pytest.raises(AuthFailed, match=OTHER_USERNAME):
        bench.cloud.terraform_environment(PLACE)


def test_an_account_without_credentials_is_refused_in_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKEN", "USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"UPCLOUD_{name}", raising=False)
    with pytest.raises(AuthFailed, match="redentials"):
        bench.another().list_place(PLACE)


def test_a_server_that_is_away_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    with upcloud_cloud() as upcloud:
        file = write_settings(tmp_path / "upcloud.yaml", upcloud)
    assert isinstance(upcloud, UpcloudServer)
    with pytest.raises(CloudUnavailable, match="who am I"):
        UpcloudCloud("test", file, attempts=1).list_place(PLACE)


@pytest.mark.parametrize("said", [b"<html>on holiday</html>", b"[]", b"{}"])
def test_an_answer_that_makes_no_sense_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    with serving(lambda *_: (200, {}, said)) as port:
        file = write_settings(tmp_path / "upcloud.yaml", UpcloudServer(port))
        with pytest.raises(CloudUnavailable, match="who am I"):
            UpcloudCloud("test", file, attempts=1).list_place(PLACE)


def test_the_fake_answers_in_the_fields_and_types_of_upclouds_own_client(bench: Bench) -> None:
    bench.create(with_disk())
    server = bench.id_of("n-0.g1")

    def told(path: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return requests.get(f"{bench.upcloud.url}/1.3/{path}", headers=headers, timeout=5).json()

    described = told(f"server/{server}")["server"]
    network = described["networking"]["interfaces"]["interface"][0]["network"]
    group = described["server_group"]
    shown: dict[str, Body] = {
        "server in a list": told("server?limit=1")["servers"]["server"][0],
        "server": described,
        "storage device": described["storage_devices"]["storage_device"][1],
        "interface": described["networking"]["interfaces"]["interface"][0],
        "storage": told(f"storage/{bench.volume_id('n-0.data.v1', UID)}")["storage"],
        "ip address": told("ip_address")["ip_addresses"]["ip_address"][0],
        "network": told(f"network/{network}")["network"],
        "server group": told(f"server-group/{group}")["server_group"],
        "account": told("account")["account"],
    }
    for kind, body in shown.items():
        assert set(body) <= set(FIELDS[kind]), kind
        for name, value in body.items():
            expected: Any = KINDS[FIELDS[kind][name]]
            assert isinstance(value, expected), f"{kind}: {name}"
    assert labels_of(described) == labels_of(shown["server in a list"])
