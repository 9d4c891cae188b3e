"""What clouds publish of one volume: by type, size and the figures asked for; nothing where they publish none."""

import pytest

from events.instance_facts import PlannedDisk, PlannedVolume
from providers.volume_limits import volume_limit

MIB = 2**20


def a_volume(gib: int = 500, kind: str = "persistent", **options: object) -> PlannedVolume:
    told = PlannedDisk(**options) if options else None  # type: ignore[arg-type]  # by name
    return PlannedVolume("brokers-a-0.data.v1", "data", 1, kind, gib, "d", told)


@pytest.mark.parametrize(
    ("cloud", "volume", "rate"),
    [
        ("aws", a_volume(), 125 * MIB),
        ("aws", a_volume(type="gp3", throughput_mib_per_s=700), 700 * MIB),
        ("aws", a_volume(1000, type="gp2"), 250 * MIB),
        ("aws", a_volume(100, type="gp2"), 75 * MIB),
        ("aws", a_volume(8, type="gp2"), 25 * MIB),
        ("aws", a_volume(type="io1", iops=1000), 250 * MIB),
        ("aws", a_volume(type="io1", iops=32_000), 500 * MIB),
        ("aws", a_volume(type="io1", iops=64_000), 1000 * MIB),
        ("aws", a_volume(type="io2", iops=100_000), 4000 * MIB),
        ("aws", a_volume(2048, type="st1"), 80 * MIB),
        ("aws", a_volume(16_384, type="st1"), 500 * MIB),
        ("aws", a_volume(1024, type="sc1"), 12 * MIB),
        ("google", a_volume(1000), 420 * MIB),
        ("google", a_volume(1000, type="pd-ssd"), 720 * MIB),
        ("google", a_volume(10_000, type="pd-ssd"), 1200 * MIB),
        ("google", a_volume(1000, type="pd-standard"), 120 * MIB),
        ("google", a_volume(type="hyperdisk-balanced", throughput_mib_per_s=600), 600 * MIB),
        ("azure", a_volume(1024), 200e6),
        ("azure", a_volume(1025), 250e6),
        ("azure", a_volume(32, type="Premium_LRS"), 25e6),
        ("azure", a_volume(type="PremiumV2_LRS"), 125e6),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_volume_does_what_its_cloud_publishes(cloud: str, volume: PlannedVolume, rate: float) -> None:
    found = volume_limit(cloud, volume)
    assert found is not None
    assert found.bytes_per_s == pytest.approx(rate)
    assert found.asked == bool(volume.options and volume.options.throughput_mib_per_s)


@pytest.mark.parametrize(
    ("cloud", "volume"),
    [
        ("hetzner", a_volume()),
        ("digitalocean", a_volume()),
        ("upcloud", a_volume(type="maxiops")),
        ("google", a_volume(type="pd-extreme", iops=10_000)),
        ("google", a_volume(type="hyperdisk-balanced")),
        ("azure", a_volume(type="StandardSSD_LRS")),
        ("azure", a_volume(40_000)),
        ("aws", a_volume(type="io2")),
        ("aws", a_volume(kind="ephemeral")),
        ("somewhere", a_volume()),
    ],
)
def test_what_nobody_publishes_is_unknown_not_0_and_no_guess(cloud: str, volume: PlannedVolume) -> None:
    assert volume_limit(cloud, volume) is None
