"""A broker with two disks on AWS: the real Terraform, the vendor's provider, and moto on a loopback port.

Both are made with its VM, pass to the next VM in one release and one bind, and one of them stays behind for a new one.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from providers.base import Resources, RunKind
from tests.fakes.clouds.aws_hands import AwsHarness
from tests.fakes.resources import attachment, instance, resources, run, surge, targets, volume
from tests.terraform.awslife import AwsBench, aws_bench

pytestmark = [pytest.mark.soak, pytest.mark.terraform, pytest.mark.timeout(900)]

DATA, OLD_DISK = volume("b-0"), volume("b-0", "data2")
NEW_DISK = replace(OLD_DISK, version=2)
FIRST, SECOND = instance("b-0"), instance("b-0", 2)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsBench]:
    with aws_bench(tmp_path, monkeypatch) as bench:
        yield bench


def test_one_of_two_disks_begins_anew_while_the_other_passes_on(bench: AwsBench) -> None:
    hands = AwsHarness(bench.cloud, bench.aws)

    def set_of(*parts: object) -> Resources:
        return hands.here(resources(*parts))  # type: ignore[arg-type]

    on_first = (attachment("b-0.g1", DATA.key), attachment("b-0.g1", OLD_DISK.key))
    on_second = (attachment("b-0.g2", DATA.key), attachment("b-0.g2", NEW_DISK.key))
    first = set_of(FIRST, DATA, OLD_DISK, *on_first)
    bench.execute(surge(first))
    assert bench.vm("b-0.g1").volumes == ("b-0.data.v1", "b-0.data2.v1")

    both = set_of(FIRST, SECOND, DATA, OLD_DISK, NEW_DISK, *on_first)
    made = frozenset({"instance/b-0.g2", "volume/b-0.data2.v2"})
    assert set(bench.execute(surge(both, only=made, intent="run-2")).changed) == made

    free = set_of(FIRST, SECOND, DATA, OLD_DISK, NEW_DISK)
    ties = {"attachment/b-0.g1.data", "attachment/b-0.g1.data2"}
    bench.execute(run(RunKind.RELEASE, free, deletes=ties, intent="run-3"))
    assert (bench.vm("b-0.g1").volumes, bench.vm("b-0.g2").volumes) == ((), ())

    after = set_of(FIRST, SECOND, DATA, OLD_DISK, NEW_DISK, *on_second)
    ties = {"attachment/b-0.g2.data", "attachment/b-0.g2.data2"}
    bench.execute(run(RunKind.BIND, after, creates=ties, intent="run-4"))
    assert bench.vm("b-0.g2").volumes == ("b-0.data.v1", "b-0.data2.v2")

    gone = {"instance/b-0.g1", "volume/b-0.data2.v1"}
    left = set_of(SECOND, DATA, NEW_DISK, *on_second)
    bench.execute(run(RunKind.RETIRE, left, deletes=gone, intent="run-5"))
    assert {v.key for v in bench.listing().volumes} == {"b-0.data.v1", "b-0.data2.v2"}

    bench.execute(run(RunKind.DESTROY, left, deletes=targets(left), intent="run-6"))
    assert (bench.listing().instances, bench.listing().volumes) == ((), ())
