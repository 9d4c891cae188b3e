"""Every cloud: what we call it takes from the budget of the account, which its Terraform runs draw on too."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.errors import RateLimited
from providers.tf.abilities import SharesCalls
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.resources import instance, resources

BURST = 1000


@pytest.fixture(params=["aws", "azure", "digitalocean", "google", "hetzner", "upcloud"])
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        yield opened


def with_few_calls(harness: Harness, tmp_path: Path) -> Any:
    """The same cloud, with a bucket that never fills."""
    file = tmp_path / f"{harness.cloud.name}.yaml"
    told = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({**told, "calls": {"burst": BURST, "per_s": 0.000001}}))
    more = {} if harness.cloud.name in ("azure", "hetzner", "aws") else {"page": 2}
    made: Any = type(harness.cloud)
    return made("test", file, attempts=1, **more)


def counted(harness: Harness) -> int:
    """Calls the cloud's stand-in was asked, but for sign-ins."""
    servers: Any = harness
    name = "fake" if harness.cloud.name == "digitalocean" else harness.cloud.name
    calls: Counter[str] = getattr(servers, name).calls
    return sum(n for what, n in calls.items() if what not in ("token", "GetCallerIdentity"))


def test_every_call_and_every_page_takes_a_token(harness: Harness, tmp_path: Path) -> None:
    harness.create(resources(*(instance(f"n-{i}") for i in range(5))))
    cloud = with_few_calls(harness, tmp_path)
    before = counted(harness)
    found = cloud.list_place(harness.place).instances
    cloud.describe(harness.place, [found[0].id])
    made = counted(harness) - before
    bucket = cloud.calls(harness.place)
    bucket.take(BURST - made, patience_s=0)
    with pytest.raises(RateLimited):
        bucket.take(patience_s=0)
    assert made >= 3


def test_a_throttle_stops_whoever_calls_for_the_account(harness: Harness) -> None:
    assert isinstance(harness.cloud, SharesCalls)
    harness.cloud.list_place(harness.place)
    harness.fail_once(RateLimited)
    with pytest.raises(RateLimited):
        harness.cloud.list_place(harness.place)
    with pytest.raises(RateLimited, match="are allowed in"):
        harness.cloud.calls(harness.place).take(patience_s=0)
