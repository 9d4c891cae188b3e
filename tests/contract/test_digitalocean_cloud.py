"""What is DigitalOcean's own: pages, one tag a listing, throttles, another team's token, ids not found, odd tags."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState
from providers.digitalocean.cloud import SETTLES_S, DigitaloceanCloud
from providers.errors import AuthFailed, CloudUnavailable, NotYetGone, RateLimited
from providers.handover import Handover, handover_of
from tests.fakes.clock import Clock
from tests.fakes.clouds.digitalocean import OTHER_TEAM, TOKEN, digitalocean_cloud
from tests.fakes.clouds.digitalocean_hands import PLACE, REGION, DigitaloceanHarness, write_settings
from tests.fakes.clouds.digitalocean_http import Answer
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import attachment, instance, resources, volume

NEVER_THERE = "99999999"
LIST = "GET /v2/droplets"


@dataclass
class Bench(DigitaloceanHarness):
    """The harness of the suite, a clock, and clouds like its own."""

    file: Path = Path()
    clock: Clock = None  # type: ignore[assignment]

    def another(self, *, installation_id: str = "test", attempts: int = 1, page: int = 200) -> DigitaloceanCloud:
        cloud = DigitaloceanCloud(installation_id, self.file, attempts=attempts, page=page, clock=self.clock)
        return at_once(cloud, PLACE)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", TOKEN)
    with digitalocean_cloud() as fake:
        file, clock = write_settings(tmp_path / "digitalocean.yaml", fake), Clock()
        yield Bench(DigitaloceanCloud("test", file, attempts=1, clock=clock), fake, file=file, clock=clock)


def nodes(count: int) -> tuple[Any, ...]:
    return tuple(instance(f"n-{i}") for i in range(count))


def test_an_address_stays_with_its_vm(bench: Bench) -> None:
    assert handover_of(bench.cloud) is Handover.NONE


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12), volume("n-0")))
    bench.fake.calls.clear()
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert bench.fake.calls == {"GET /v2/account": 1, LIST: 3, "GET /v2/volumes": 1}


def test_a_page_that_fails_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.fake.faults.append(Fault(LIST, "server_error", skip=2))
    with pytest.raises(CloudUnavailable, match="listing"):
        bench.another(page=5).list_place(PLACE)


def test_a_vm_deleted_between_two_pages_hides_no_other(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    first, answer = int(bench.id_of("n-0.g1")), bench.fake.answer

    def delete_after_the_first_page(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        told = answer(method, path, headers, body)
        if path.startswith("/v2/droplets?") and first in bench.fake.droplets:
            bench.fake.power_cut(first)
        return told

    bench.fake.answering = delete_after_the_first_page
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(1, 12))


def test_a_throttled_page_is_asked_for_again(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    bench.fake.faults.append(Fault(LIST, "too_many_requests", 429, skip=1, headers={"retry-after": "0"}))
    assert len(bench.another(page=5, attempts=2).list_place(PLACE).instances) == 7


def test_a_throttle_of_minutes_is_told_at_once(bench: Bench) -> None:
    said, wait = "API Rate limit exceeded.", {"retry-after": "300"}
    bench.fake.faults.append(Fault(LIST, "too_many_requests", 429, message=said, headers=wait))
    with pytest.raises(RateLimited, match=r"digitalocean/production/nyc3: listing: API Rate limit exceeded"):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.fake.calls[LIST] == 1


def test_an_id_never_seen_is_unknown_until_the_cloud_had_time_to_settle(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += SETTLES_S - 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_many_ids_are_looked_up_in_the_listing_and_few_one_by_one(bench: Bench) -> None:
    bench.create(resources(*nodes(25)))
    ids = [i.id for i in bench.cloud.list_place(PLACE).instances]
    bench.power_cut(ids[0])
    bench.fake.calls.clear()
    told = bench.cloud.describe(PLACE, ids)
    assert told == {ids[0]: InstanceState.GONE, **dict.fromkeys(ids[1:], InstanceState.RUNNING)}
    assert bench.fake.calls["GET /v2/droplets/*"] == 1


@pytest.mark.parametrize("word", ["off", "archive", "a word of tomorrow"])
def test_a_vm_that_is_off_is_not_gone(bench: Bench, word: str) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    bench.fake.droplets[int(vm)]["status"] = word
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [InstanceState.STOPPING]
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.STOPPING}


def test_a_token_of_another_team_is_refused_before_anything_is_believed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.fake.team = OTHER_TEAM
    with pytest.raises(AuthFailed, match=f"the token is of {OTHER_TEAM}"):
        bench.another().list_place(PLACE)
    assert bench.fake.calls[LIST] == 0


def test_a_team_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (vm,) = bench.cloud.list_place(PLACE).instances
    bench.power_cut(vm.id)
    bench.fake.team = OTHER_TEAM
    with pytest.raises(AuthFailed, match=OTHER_TEAM):
        bench.cloud.describe(PLACE, [vm.id])


def test_terraform_gets_no_token_of_another_team(bench: Bench) -> None:
    bench.cloud.list_place(PLACE)
    bench.fake.team = OTHER_TEAM
    with pytest.raises(AuthFailed, match=OTHER_TEAM):
        bench.cloud.terraform_environment(PLACE)


def test_a_token_that_was_revoked_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", "revoked")
    with pytest.raises(AuthFailed, match="Unable to authenticate you"):
        bench.another().list_place(PLACE)


def test_an_account_without_a_token_is_refused_in_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIGITALOCEAN_TOKEN")
    with pytest.raises(AuthFailed, match="DIGITALOCEAN_TOKEN has no token"):
        bench.another().list_place(PLACE)


def test_a_token_never_goes_over_plain_http_to_another_host(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "far.yaml"
    file.write_text(bench.file.read_text().replace(bench.fake.url, "http://api.example.test"))
    with pytest.raises(CloudUnavailable, match="TLS"):
        DigitaloceanCloud("test", file, attempts=1).list_place(PLACE)


def test_a_vm_with_our_tag_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    strange = ["kedge-installation:test", "kedge-node:n-1", "kedge-node:n-2", "kedge-generation:_zz", "kedge"]
    bench.ask("POST", "droplets", name="x", region=REGION, size="s-1vcpu-1gb", image=1, tags=strange)
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


def test_tags_written_by_hand_in_capitals_are_the_same_tags(bench: Bench) -> None:
    bench.ask("POST", "tags", name="KEDGE-INSTALLATION:TEST")
    bench.create(resources(*nodes(1)))
    assert "KEDGE-INSTALLATION:TEST" in bench.fake.droplets[int(bench.id_of("n-0.g1"))]["tags"]
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


def test_a_twin_is_listed_beside_the_first(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.create(resources(*nodes(1)))
    first, second = bench.cloud.list_place(PLACE).instances
    assert first.key == second.key
    assert first.id != second.id


def test_a_vm_that_was_made_though_the_call_failed_is_listed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    words = bench.fake.droplets[int(bench.id_of("n-0.g1"))]["tags"]
    bench.fake.faults.append(Fault("POST /v2/droplets", "server_error", done=True))
    given = b'{"name": "n", "region": "nyc3", "size": "s", "image": 1, "tags": ["%s"]}' % '", "'.join(words).encode()
    status, _, _ = bench.fake.answer("POST", "/v2/droplets", {"Authorization": f"Bearer {TOKEN}"}, given)
    assert status == 500
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1", "n-0.g1"]


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(volume("n-0")))
    made = bench.ask("POST", "droplets", name="x", region=REGION, size="s-1vcpu-1gb", image=1)["droplet"]["id"]
    (disk,) = bench.fake.volumes
    bench.ask("POST", f"volumes/{disk}/actions", type="attach", droplet_id=made)
    assert [v.attached_to for v in bench.cloud.list_place(PLACE).volumes] == [str(made)]


def test_a_vm_in_the_middle_of_an_action_is_deleted_later(bench: Bench) -> None:
    bench.create(resources(instance("n-0"), volume("n-0"), attachment("n-0.g1", "n-0.data.v1")))
    list(bench.fake.actions.values())[-1]["status"] = "in-progress"
    (vm,) = bench.cloud.list_place(PLACE).instances
    with pytest.raises(NotYetGone, match="pending event"):
        bench.cloud.terminate(PLACE, vm.id)


def test_a_machine_tells_its_size_and_version_by_our_names(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.shape, seen.image, seen.cluster_name) == ("small", "4.1.1", "orders")
    assert (seen.address or "").startswith("10.10.")


def test_the_token_goes_into_terraforms_environment_and_nowhere_else(bench: Bench) -> None:
    environment = bench.cloud.terraform_environment(PLACE)
    assert environment["DIGITALOCEAN_TOKEN"] == TOKEN
    wanted = bench.here(resources(*nodes(1)))
    seen = bench.cloud.list_place(PLACE)
    told = f"{bench.cloud} {bench.cloud._access} {bench.cloud.variables(wanted)} {seen} {bench.file.read_text()}"
    assert TOKEN not in told


def test_a_server_that_is_away_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", TOKEN)
    with digitalocean_cloud() as fake:
        file = write_settings(tmp_path / "digitalocean.yaml", fake)
    with pytest.raises(CloudUnavailable, match="whose is the token"):
        DigitaloceanCloud("test", file, attempts=1).list_place(PLACE)
