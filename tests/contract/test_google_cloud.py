"""What is Google's own: pages, zones out of reach, throttles, another project, names given anew, hostile labels."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from providers import tags
from providers.base import InstanceResource, InstanceState
from providers.errors import AuthFailed, CloudUnavailable, NotFound, NotPermitted, RateLimited
from providers.google.cloud import SETTLES_S, GoogleCloud
from providers.handover import Handover, handover_of
from providers.tf.abilities import GivesEnvironment, ImportsResources, RecognisesErrors
from tests.fakes.clock import Clock
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.google import OTHER_NUMBER, TOKEN, google_fake
from tests.fakes.clouds.google_hands import HOME, PLACE, SECOND, GoogleHarness, service_account, write_settings
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import attachment, instance, resources, volume

NEVER_THERE = f"{HOME}-b/k-orders-n-0-g1-0123456789abcdef/4000000000000000000"


@dataclass
class Bench(GoogleHarness):
    """The harness of the suite, a clock, the pauses that were asked for, and clouds like its own."""

    file: Path = Path()
    clock: Clock = field(default_factory=Clock)
    pauses: list[float] = field(default_factory=list)

    def another(self, *, installation_id: str = "test", attempts: int = 1, page: int = 500) -> GoogleCloud:
        cloud = GoogleCloud(
            installation_id, self.file, attempts=attempts, page=page, clock=self.clock, sleep=self.pauses.append
        )
        return at_once(cloud, PLACE)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with google_fake() as google:
        file = write_settings(tmp_path / "google.yaml", google)
        clock = Clock()
        yield Bench(GoogleCloud("test", file, attempts=1, clock=clock), google, file=file, clock=clock)


def nodes(count: int) -> tuple[InstanceResource, ...]:
    return tuple(instance(f"n-{i}", zone="abc"[i % 3]) for i in range(count))


def listings(bench: Bench) -> dict[str, int]:
    return {name: n for name, n in bench.google.calls.items() if "ist" in name}


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert listings(bench) == {"instances.aggregatedList": 3, "disks.aggregatedList": 1, "addresses.list": 1}


def test_a_page_that_fails_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.google.faults.append(Fault("instances.aggregatedList", "backendError", 503, skip=2))
    with pytest.raises(CloudUnavailable, match="backendError"):
        bench.another(page=5).list_place(PLACE)


def test_a_zone_that_cannot_be_reached_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(3)))
    seen = bench.cloud.list_place(PLACE).instances
    bench.google.unreachable = {f"{HOME}-c"}
    with pytest.raises(CloudUnavailable, match=rf"zones/{HOME}-c.*UNREACHABLE.*unknown"):
        bench.cloud.list_place(PLACE)
    assert InstanceState.GONE not in bench.cloud.describe(PLACE, [i.id for i in seen]).values()


def test_a_zone_of_another_region_that_cannot_be_reached_is_none_of_this_places(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    bench.google.unreachable = {f"{SECOND}-c"}
    assert len(bench.cloud.list_place(PLACE).instances) == 2


def test_a_throttled_page_is_asked_for_again(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    bench.google.faults.append(Fault("instances.aggregatedList", "rateLimitExceeded", 403, skip=1))
    assert len(bench.another(page=5, attempts=2).list_place(PLACE).instances) == 7
    assert len(bench.pauses) == 1


def test_the_pause_google_asks_for_is_kept(bench: Bench) -> None:
    bench.google.faults.append(Fault("instances.aggregatedList", "tooManyRequests", 429, headers={"Retry-After": "3"}))
    bench.another(attempts=2).list_place(PLACE)
    assert bench.pauses == [3.0]


def test_a_pause_longer_than_a_call_may_last_is_told_at_once(bench: Bench) -> None:
    bench.google.faults.append(Fault("*", "tooManyRequests", 429, headers={"Retry-After": "60"}))
    with pytest.raises(RateLimited):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.pauses == []


def test_a_throttle_that_lasts_is_told(bench: Bench) -> None:
    bench.google.faults.append(Fault("instances.aggregatedList", "rateLimitExceeded", 403, times=2))
    with pytest.raises(RateLimited, match=r"google/production/europe-west1: listing"):
        bench.another(attempts=2).list_place(PLACE)


def test_a_refusal_is_not_asked_again(bench: Bench) -> None:
    bench.google.faults.append(Fault("instances.aggregatedList", "forbidden", 403))
    with pytest.raises(NotPermitted, match="forbidden"):
        bench.another(attempts=3).list_place(PLACE)
    assert bench.google.calls["instances.aggregatedList"] == 1


def test_an_id_nobody_saw_is_unknown_until_it_was_missing_for_long(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += SETTLES_S - 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_a_name_given_anew_is_another_vm_and_the_first_is_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (first,) = bench.cloud.list_place(PLACE).instances
    bench.power_cut(first.id)
    bench.create(resources(*nodes(1)))
    second = bench.id_of("n-0.g1")
    assert first.id.rpartition("/")[0] == second.rpartition("/")[0]
    assert bench.cloud.describe(PLACE, [first.id, second]) == {
        first.id: InstanceState.GONE,
        second: InstanceState.RUNNING,
    }
    bench.cloud.terminate(PLACE, first.id)
    assert bench.cloud.describe(PLACE, [second]) == {second: InstanceState.RUNNING}


@pytest.mark.parametrize(
    ("message", "status"),
    [("The resource 'projects/kedge-test-1' was not found", 404), ("The zone is in trouble", 503)],
    ids=["project", "zone"],
)
def test_only_an_answer_about_that_very_vm_proves_it_gone(bench: Bench, message: str, status: int) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.google.faults.append(Fault("instances.get", "notFound", status, message=message))
    with pytest.raises((NotFound, CloudUnavailable)):
        bench.cloud.describe(PLACE, [seen.id])
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.RUNNING}


def test_a_stopped_vm_is_not_gone_though_google_calls_it_terminated(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.machine("n-0.g1")["status"] = "TERMINATED"
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert seen.state is InstanceState.STOPPING
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.STOPPING}


def test_a_vm_that_is_being_deleted_is_not_gone_yet(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.world.polls = 2
    bench.cloud.terminate(PLACE, seen.id)
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.STOPPING}
    (operation,) = bench.world.pending
    bench.world.look(operation)
    bench.world.look(operation)
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.GONE}


def test_a_deletion_whose_answer_was_lost_is_made_again(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.google.faults.append(Fault("instances.delete", "backendError", 500, done=True))
    bench.another(attempts=2).terminate(PLACE, seen.id)
    assert bench.cloud.describe(PLACE, [seen.id]) == {seen.id: InstanceState.GONE}


def test_many_ids_cost_one_listing_and_a_call_for_each_that_is_missing(bench: Bench) -> None:
    bench.create(resources(*nodes(25)))
    ids = [i.id for i in bench.cloud.list_place(PLACE).instances]
    bench.power_cut(ids[0])
    bench.google.calls.clear()
    told = bench.cloud.describe(PLACE, ids)
    assert [i for i, state in told.items() if state is InstanceState.GONE] == [ids[0]]
    assert len(told) == 25
    assert (bench.google.calls["instances.aggregatedList"], bench.google.calls["instances.get"]) == (1, 1)


def test_a_project_of_another_number_is_refused_before_anything_is_believed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.world.number = OTHER_NUMBER
    with pytest.raises(AuthFailed, match=f"number {OTHER_NUMBER}.*the place is"):
        bench.another().list_place(PLACE)
    assert listings(bench) == {}


def test_a_project_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    bench.world.things.clear()
    bench.world.number = OTHER_NUMBER
    with pytest.raises(AuthFailed, match=OTHER_NUMBER):
        bench.cloud.describe(PLACE, [seen.id])
    bench.clock.now += 400
    with pytest.raises(AuthFailed):
        bench.cloud.terminate(PLACE, seen.id)


def test_an_answer_about_another_projects_vms_is_refused(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    machine = bench.machine("n-0.g1")
    machine["selfLink"] = machine["selfLink"].replace("kedge-test-1", "somebody-else")
    with pytest.raises(AuthFailed, match=r"projects/somebody-else.*the place is project kedge-test-1"):
        bench.cloud.list_place(PLACE)


def test_a_vm_with_our_label_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    machine = bench.machine("n-0.g1")
    machine["labels"] = {k: v for k, v in machine["labels"].items() if k in (tags.INSTALLATION, "kedge-region")}
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-1.g1"]


def test_hostile_words_arrive_as_they_were(bench: Bench) -> None:
    odd = instance("n-0", intent="Wörds, 'of' A.person_" + "x" * 200)
    bench.create(resources(replace(odd, image="4.1.1")))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.intent_id, seen.image, seen.shape) == (odd.intent_id, "4.1.1", "small")


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(instance("n-0"), volume("n-0"), attachment("n-0.g1", "n-0.data.v1")))
    machine = bench.machine("n-0.g1")
    machine["labels"] = {}
    (disk,) = bench.cloud.list_place(PLACE).volumes
    assert disk.attached_to == machine["selfLink"].partition("/compute/v1/")[2]


def test_it_says_what_it_can(bench: Bench) -> None:
    assert handover_of(bench.cloud) is Handover.DELETE_FIRST
    assert isinstance(bench.cloud, GivesEnvironment | RecognisesErrors)
    assert isinstance(bench.cloud, ImportsResources)


def test_a_token_goes_into_terraforms_environment_and_nowhere_else(bench: Bench) -> None:
    environment = bench.cloud.terraform_environment(PLACE)
    assert environment["GOOGLE_OAUTH_ACCESS_TOKEN"] == TOKEN
    assert environment["GOOGLE_COMPUTE_CUSTOM_ENDPOINT"].endswith("/compute/v1/")
    wanted = bench.here(resources(*nodes(1)))
    told = f"{bench.cloud} {bench.cloud.variables(wanted)} {bench.cloud.list_place(PLACE)} {bench.file.read_text()}"
    assert TOKEN not in told
    assert "PRIVATE KEY" not in told
    assert bench.google.calls["token"] == 1


def test_a_token_that_would_end_within_a_run_is_made_anew(bench: Bench) -> None:
    bench.google.token_lasts_s = 600
    bench.cloud.list_place(PLACE)
    bench.google.token_lasts_s = 3599
    bench.cloud.terraform_environment(PLACE)
    bench.cloud.terraform_environment(PLACE)
    assert bench.google.calls["token"] == 2


def test_the_environments_own_credentials_do_as_well(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    key = bench.file.with_name("adc.json")
    key.write_text(json.dumps(service_account(bench.google.url)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    bench.file.write_text("\n".join(x for x in bench.file.read_text().splitlines() if "service_account_file" not in x))
    assert bench.another().list_place(PLACE).instances == ()


def test_no_credentials_are_refused_in_words(bench: Bench) -> None:
    bench.file.with_name("service-account.json").write_text("{}")
    with pytest.raises(AuthFailed, match=r"service-account\.json is not a key file"):
        bench.another().list_place(PLACE)


def test_a_server_that_is_away_is_unavailable(tmp_path: Path) -> None:
    with google_fake() as google:
        file = write_settings(tmp_path / "google.yaml", google)
    with pytest.raises(CloudUnavailable, match="which project"):
        GoogleCloud("test", file, attempts=1).list_place(PLACE)
