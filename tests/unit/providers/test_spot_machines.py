"""Pre-emptible VMs below the port: what is rendered of them, and which limits of an account they count against."""

from types import SimpleNamespace

import pytest

from providers.azure.examination import quotas_in as azure_quotas
from providers.base import InstanceResource
from providers.catalog_file import CatalogFile, sold_by
from providers.catalogs import catalog
from providers.google.examination import quotas_in as google_quotas
from providers.quota import AccountQuota, lacking
from providers.variables import module_variables
from tests.fakes.resources import instance, resources


def test_only_who_asks_for_it_is_rendered_as_pre_emptible() -> None:
    """What is rendered for all others is what earlier releases rendered, to the letter."""
    made = module_variables(resources(instance("b-0", spot=True), instance("b-1")), cloud={})["instances"]
    assert isinstance(made, dict)
    assert {key: one.get("spot") for key, one in made.items()} == {"b-0.g1": True, "b-1.g1": None}


@pytest.mark.parametrize(
    ("cloud", "sells"),
    [("aws", True), ("google", True), ("azure", True), ("digitalocean", False), ("upcloud", False), ("hetzner", False)],
)
def test_a_catalogue_says_whether_there_are_any(cloud: str, sells: bool) -> None:
    assert [m.field for m in catalog(cloud).misfits(catalog(cloud).regions[0], "small", spot=True)] == (
        [] if sells else ["spot"]
    )


def test_the_local_cloud_has_none() -> None:
    assert [m.field for m in catalog("local").misfits("local-1", "small", spot=True)] == ["spot"]


def limits(**told: tuple[float, float]) -> SimpleNamespace:
    return SimpleNamespace(quotas=[SimpleNamespace(metric=k, limit=v[0], usage=v[1]) for k, v in told.items()])


def missing(quotas: tuple[AccountQuota, ...], sold: CatalogFile, *parts: InstanceResource) -> list[str]:
    wanted = resources(*parts)
    return [line.partition(":")[0] for line in lacking(quotas, wanted, {f"instance/{p.key}" for p in parts}, sold)]


KEPT, SPOT = instance("b-0"), instance("b-1", spot=True)


def test_google_counts_them_against_a_limit_of_their_own_where_an_account_has_it() -> None:
    own = google_quotas(limits(N2D_CPUS=(100, 100), PREEMPTIBLE_CPUS=(100, 0)))
    assert missing(own, sold_by("google"), SPOT) == []
    assert missing(own, sold_by("google"), KEPT) == ["N2D_CPUS"]
    used_up = google_quotas(limits(N2D_CPUS=(100, 0), PREEMPTIBLE_CPUS=(100, 100)))
    assert missing(used_up, sold_by("google"), SPOT) == ["PREEMPTIBLE_CPUS"]
    assert missing(used_up, sold_by("google"), KEPT) == []


def test_google_counts_them_like_all_others_without_such_a_limit() -> None:
    none = google_quotas(limits(N2D_CPUS=(100, 100), PREEMPTIBLE_CPUS=(0, 0)))
    assert missing(none, sold_by("google"), SPOT) == ["N2D_CPUS"]


def test_azure_counts_them_against_low_priority_cores_and_as_vms() -> None:
    def usage(name: str, limit: int, used: int) -> dict[str, object]:
        return {"name": {"value": name}, "limit": limit, "currentValue": used}

    told = azure_quotas([usage("cores", 10, 10), usage("standardDSv5Family", 10, 10), usage("lowPriorityCores", 10, 0)])
    assert missing(told, sold_by("azure"), SPOT) == []
    assert "cores" in missing(told, sold_by("azure"), KEPT)
    full = azure_quotas([usage("lowPriorityCores", 10, 10), usage("virtualMachines", 5, 5)])
    assert sorted(missing(full, sold_by("azure"), SPOT)) == ["lowPriorityCores", "virtualMachines"]
    assert missing(full, sold_by("azure"), KEPT) == ["virtualMachines"]
