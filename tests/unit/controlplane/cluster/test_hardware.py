"""What the machines and volumes of a cluster do: the least limit on the way, and who says so."""

from dataclasses import replace

import pytest

from controlplane.cluster.hardware import processors_of, volume_lines, volume_sources, volumes_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.vms import VolumeLimitView
from controlplane.converger.tick.act import drain_request
from events.instance_facts import MeasuredVolume, PlannedDisk, PlannedPlace, PlannedVolume
from planner.drain.model.capacity import FigureOrigin
from planner.drain.plan import DrainPlan
from planner.drain.request import VolumeLimits
from planner.drain.solve import solve
from planner.observed import LogDirsSeen
from providers.catalog_file import sold_by
from tests.builders import NOW, a_partition, a_snapshot, a_view
from tests.changed_view import changed_view

MIB = 2**20


def on(cloud: str, machine: str, *volumes: PlannedVolume) -> ClusterView:
    """Three brokers of that machine with these volumes."""
    view, place = a_view(), PlannedPlace(cloud, "", "", "")
    instances = {
        key: replace(i, planned=replace(i.planned, shape=machine, place=place, volumes=volumes))
        for key, i in view.instances.items()
    }
    return replace(view, instances=instances)


def a_volume(number: int = 1, gib: int = 500, kind: str = "persistent", **options: object) -> PlannedVolume:
    told = PlannedDisk(**options) if options else None  # type: ignore[arg-type]  # by name
    return PlannedVolume(f"brokers-a-0.data{number}.v1", f"data{number}", 1, kind, gib, "d", told)


def test_a_plain_gp3_is_narrower_than_the_machine() -> None:
    """Finding: a promise of 75 % of a r7g.xlarge's network was 1.34 times what its volume does."""
    known = volumes_of(on("aws", "m7g.2xlarge", a_volume()))[1000]
    assert known.bytes_per_s == 125 * MIB
    assert (known.origin, known.words) == (FigureOrigin.CATALOGUE, "1 x gp3, as aws publishes")


def test_a_small_machine_is_narrower_than_its_volumes() -> None:
    known = volumes_of(on("aws", "m7g.large", a_volume()))[1000]
    assert known.bytes_per_s == 78.75e6
    assert known.words == "as far as the machine m7g.large reaches them, says the catalogue"


def test_several_volumes_do_together_what_each_does_until_the_machine_binds() -> None:
    two = volumes_of(on("aws", "m7g.2xlarge", a_volume(1), a_volume(2)))[1000]
    assert (two.bytes_per_s, two.words) == (250 * MIB, "2 x gp3, as aws publishes")
    many = volumes_of(on("aws", "m7g.2xlarge", *(a_volume(n) for n in range(4))))[1000]
    assert many.bytes_per_s == 312.5e6


def test_what_the_spec_asks_for_is_the_specs() -> None:
    known = volumes_of(on("aws", "m7g.2xlarge", a_volume(type="gp3", throughput_mib_per_s=250)))[1000]
    assert (known.bytes_per_s, known.origin) == (250 * MIB, FigureOrigin.SPEC)
    assert known.words == "1 x gp3, as the spec asks (throughputMibPerS)"


def test_a_volume_that_grew_does_what_its_size_does_now() -> None:
    view = on("azure", "Standard_D8s_v5", a_volume(gib=128))
    assert volumes_of(view)[1000].bytes_per_s == 100e6
    grown = changed_view(view, volume_sizes={"brokers-a-0.data1.v1": 512})
    assert volumes_of(grown)[1000].bytes_per_s == 150e6


def test_where_the_machines_own_limit_is_unknown_that_is_said() -> None:
    known = volumes_of(on("google", "n2d-standard-4", a_volume()))[1000]
    assert known.words == "1 x pd-balanced, as google publishes; what the machine reaches of them is not known"


@pytest.mark.parametrize(
    ("cloud", "machine", "volume"),
    [
        ("hetzner", "ccx23", a_volume()),
        ("upcloud", "4xCPU-8GB", a_volume()),
        ("digitalocean", "s-4vcpu-8gb", a_volume()),
        ("google", "n2d-standard-4", a_volume(type="pd-extreme", iops=5000)),
        ("aws", "m7g.2xlarge", a_volume(kind="ephemeral")),
        ("nowhere", "x9", a_volume()),
    ],
)
def test_what_nobody_publishes_is_unknown(cloud: str, machine: str, volume: PlannedVolume) -> None:
    view = on(cloud, machine, volume)
    assert volumes_of(view) == {}
    assert volume_sources(view) == ()
    assert volume_lines(volumes_of(view)) == ()


def test_a_machine_nobody_knows_still_has_the_volumes_that_were_made() -> None:
    known = volumes_of(on("aws", "x9.metal", a_volume()))[1000]
    assert known.bytes_per_s == 125 * MIB
    assert known.words.endswith("what the machine reaches of them is not known")


def measured(view: ClusterView, write: float, read: float) -> ClusterView:
    key = a_volume().key
    return changed_view(view, measured_volumes={key: MeasuredVolume(write, read)})


def test_what_was_measured_lowers_what_is_published_and_says_both() -> None:
    known = volumes_of(measured(on("aws", "m7g.2xlarge", a_volume()), 80 * MIB, 90 * MIB))[1000]
    assert (known.bytes_per_s, known.origin) == (80 * MIB, FigureOrigin.MEASURED)
    assert known.words == "as measured when new; 1 x gp3, as aws publishes, would be 125.0 MiB/s"


def test_a_disk_that_is_fast_at_its_birth_counts_as_published() -> None:
    known = volumes_of(measured(on("aws", "m7g.2xlarge", a_volume()), 400 * MIB, 400 * MIB))[1000]
    assert (known.bytes_per_s, known.origin) == (125 * MIB, FigureOrigin.CATALOGUE)


def test_where_nothing_is_published_what_was_measured_counts() -> None:
    view = measured(on("nowhere", "m1", a_volume()), 80 * MIB, 70 * MIB)
    assert {b: v.bytes_per_s for b, v in volumes_of(view).items()} == dict.fromkeys((1000, 1001, 1002), 70 * MIB)
    (source,) = volume_sources(view)
    assert (source.origin, source.by_broker_words) == (
        FigureOrigin.MEASURED, "as measured when new, 25% left to clients"
    )  # fmt: skip


def test_what_is_measured_of_some_volumes_or_before_one_grew_says_nothing() -> None:
    one, two = a_volume(1), a_volume(2)
    view = changed_view(on("nowhere", "m1", one, two), measured_volumes={one.key: MeasuredVolume(1e6, 1e6)})
    assert volumes_of(view) == {}
    grown = changed_view(measured(on("nowhere", "m1", one), 1e6, 1e6), volume_sizes={one.key: 900})
    assert volumes_of(grown) == {}


def test_what_volumes_did_when_they_were_saturated_lowers_all_that_is_known_before() -> None:
    view = measured(on("aws", "m7g.2xlarge", a_volume()), 80 * MIB, 90 * MIB)
    worn = changed_view(view, volume_limits={a_volume().key: VolumeLimitView(60 * MIB, NOW)})
    known = volumes_of(worn)[1000]
    assert (known.bytes_per_s, known.origin) == (60 * MIB, FigureOrigin.MEASURED)
    told = f"as found at work on {NOW:%Y-%m-%d}, when they were saturated; 1 x gp3, as aws publishes"
    assert known.words == f"{told}, would be 125.0 MiB/s"


def test_volumes_that_did_more_than_is_published_count_as_published() -> None:
    fast = changed_view(
        on("aws", "m7g.2xlarge", a_volume()), volume_limits={a_volume().key: VolumeLimitView(200 * MIB, NOW)}
    )
    assert volumes_of(fast)[1000].bytes_per_s == 125 * MIB


def test_one_saturated_volume_of_two_says_nothing_of_both() -> None:
    one, two = a_volume(1), a_volume(2)
    limit = VolumeLimitView(60 * MIB, NOW)
    half = changed_view(on("nowhere", "m1", one, two), volume_limits={one.key: limit})
    both = changed_view(half, volume_limits={one.key: limit, two.key: limit})
    assert volumes_of(half) == {}
    assert volumes_of(both)[1000].bytes_per_s == 120 * MIB


def test_migration_gets_what_clients_leave_and_says_of_what() -> None:
    (source,) = volume_sources(on("aws", "m7g.2xlarge", a_volume()))
    assert {c.disk_io_bytes_per_s for c in source.by_broker.values()} == {0.75 * 125 * MIB}
    assert source.by_broker_words == "1 x gp3, as aws publishes, 25% left to clients"


def test_a_certificate_says_whose_volumes_do_what() -> None:
    (line,) = volume_lines(volumes_of(on("aws", "m7g.2xlarge", a_volume())))
    assert line == (
        "volumes of brokers 1000, 1001, 1002 write and read 125.0 MiB/s together: 1 x gp3, as aws publishes"
    )


def test_of_the_local_clouds_disks_nobody_knows_what_they_do() -> None:
    assert volumes_of(a_view()) == {}


def test_a_drain_is_asked_with_the_volumes_and_who_told_of_them() -> None:
    view = on("aws", "m7g.2xlarge", a_volume())
    drain = DrainView("d", ("brokers-a-0.g1",), (1000,), {}, (1001, 1002), 1, NOW)
    asked = drain_request(view, drain, a_snapshot(a_partition()))
    assert asked.volumes.bytes_per_s == dict.fromkeys((1000, 1001, 1002), 125.0 * MIB)
    assert asked.volumes.told == volume_lines(volumes_of(view))
    assert drain_request(a_view(), drain, a_snapshot(a_partition())).volumes.bytes_per_s == {}


def test_processors_are_those_of_the_machine() -> None:
    assert processors_of(on("aws", "m7g.2xlarge")) == dict.fromkeys((1000, 1001, 1002), 8)
    assert processors_of(on("aws", "x9.metal")) == {}


@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_on_no_machine_of_a_catalogue_is_more_promised_than_plain_volumes_do(cloud: str) -> None:
    """Promised / volume rate was 1.34 on r7g.xlarge, 2.7 on m7g.2xlarge, 5.4 on m7g.4xlarge, 71 on i3en.metal."""
    kafka = a_snapshot(*(replace(a_partition(f"t-{n}", (1000, 1001, 1002)), size_bytes=10 * MIB) for n in range(9)))
    narrow = 0
    for machine in sold_by(cloud).raw["machines"]:
        view = on(cloud, machine, a_volume())
        drain = DrainView("d", ("brokers-a-0.g1",), (1000,), {1000: 1003}, (1003,), 1, NOW)
        fresh = replace(kafka, brokers={**kafka.brokers, 1003: replace(kafka.brokers[1000], id=1003)})
        fresh = replace(fresh, log_dirs={**fresh.log_dirs, 1003: LogDirsSeen(0, 0, 10**12, 10**12)})
        asked = drain_request(view, drain, fresh)
        most = asked.volumes.bytes_per_s[1000]
        asked = replace(asked, volumes=VolumeLimits({**asked.volumes.bytes_per_s, 1003: most}))
        plan = solve(asked)
        assert isinstance(plan, DrainPlan), machine
        promised = max(port.promised_bytes_per_s for port in (*plan.into.values(), *plan.out.values()))
        assert promised <= 0.75 * most + 1, machine
        narrow += promised < 0.75 * asked.bandwidth.bytes_per_s - 1
    assert narrow, "volumes are slower than the network of some machine"
