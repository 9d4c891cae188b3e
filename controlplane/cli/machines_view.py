"""What clouds sell, as tables: a figure nobody has read is `unknown`, and each price says where it is from."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from rich.console import RenderableType
from rich.text import Text

from controlplane.api.schemas import machines as api
from controlplane.cli.tables import listing
from controlplane.runtime.styled_text import styled

_UNKNOWN = "unknown"
_MACHINES = ("TYPE", "SIZE", "ARCH", "VCPUS", "MEMORY", "NIC", "OWN DISK", "HOUR", "MONTH", "FROM")
_DISKS = ("DISK", "TYPE", "SPEED", "IOPS", "GIB A MONTH", "FROM")

_Read = api.FigureOut | api.PriceOut


def machines_lines(item: api.MachinesOfRegionOut) -> Iterator[RenderableType]:
    """One region: its machines, its disks, and what the numbers under FROM stand for."""
    yield styled(f"{item.cloud} {item.region or '(no region: no prices)'}", "bold")
    sources = _Sources()
    yield listing(_MACHINES, [_machine(one, sources) for one in item.machines])
    yield listing(_DISKS, [_disk(one, sources) for one in item.disks])
    if item.root_disk is not None:
        yield styled(_root_disk(item.root_disk, sources))
    ipv6 = item.ipv6_per_month
    yield styled(f"IPv6 address: {_money(ipv6, ' a month')}{f' [{sources.of(ipv6)}]' if ipv6 else ''}")
    public = item.public_ipv4_per_month
    yield styled(f"public IPv4 address: {_money(public, ' a month')}{f' [{sources.of(public)}]' if public else ''}")
    crossing = item.cross_zone_per_gib
    yield styled(f"from zone to zone: {_money(crossing, ' a GiB')}{f' [{sources.of(crossing)}]' if crossing else ''}")
    leaving = item.egress_per_gib
    yield styled(f"out of the region: {_money(leaving, ' a GiB')}{f' [{sources.of(leaving)}]' if leaving else ''}")
    for one in item.racks:
        zones = f" (zones with {one.zones})" if one.zones else ""
        yield styled(f"a rack is a {one.kind}{zones}: {one.apart} [{sources.of(one)}]")
    yield from sources.lines()


class _Sources:
    """Numbers for sources, in the order they are met."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, date], int] = {}
        self._ages: dict[date, tuple[int, bool]] = {}

    def of(self, *figures: _Read | api.RacksOut | None) -> str:
        """The numbers of the sources of some figures, as in `1, 2`."""
        return ", ".join(map(str, sorted({self._number(f) for f in figures if f is not None}))) or "-"

    def lines(self) -> Iterator[Text]:
        """What each number stands for, and how old it is."""
        for (source, read), number in self._numbers.items():
            age, is_old = self._ages[read]
            flag = ", OLD" if is_old else ""
            yield styled(f"  [{number}] {source} (read {read}, {age} d ago{flag})", "yellow" if is_old else "dim")

    def _number(self, figure: _Read | api.RacksOut) -> int:
        self._ages[figure.read] = figure.age_days, figure.old
        return self._numbers.setdefault((figure.source, figure.read), len(self._numbers) + 1)


def _machine(one: api.MachineOut, sources: _Sources) -> list[Text | str]:
    return [
        one.type,
        one.size or "-",
        one.architecture,
        _plain(one.vcpus),
        _UNKNOWN if one.memory_mib is None else f"{(Decimal(one.memory_mib.value) / 1024).normalize():f} GiB",
        _nic(one),
        _plain(one.own_disk_gb, " GB"),
        _money(one.price_per_hour),
        _money(one.price_per_month),
        sources.of(*(figure for _, figure in one if isinstance(figure, _Read))),
    ]


def _disk(one: api.DiskOut, sources: _Sources) -> list[Text | str]:
    speed = one.bytes_per_s
    return [
        one.kind,
        one.type,
        _UNKNOWN if speed is None else f"{Decimal(speed.value) / 2**20:.0f} MiB/s",
        _plain(one.iops),
        "by size" if one.price_per_month_up_to else _money(one.price_per_gib_month),
        sources.of(one.iops, one.bytes_per_s, one.price_per_gib_month, *one.price_per_month_up_to.values()),
    ]


def _root_disk(one: api.RootDiskOut, sources: _Sources) -> str:
    if one.in_machine:
        return f"root disk: {one.type}, in the price of the machine"
    read = sources.of(one.gib, one.price_per_month)
    size = _plain(one.gib, " GiB")
    return (
        f"root disk: {one.type}, {size}, {_money(one.price_per_month, ' a month')}{f' [{read}]' if read != '-' else ''}"
    )


def _nic(one: api.MachineOut) -> str:
    """Sustained, and in bursts up to."""
    steady, burst = one.nic_baseline_gbps, one.nic_burst_gbps
    if burst is None:
        return _plain(steady, " Gbit/s")
    return f"{_plain(steady)}, up to {_plain(burst, ' Gbit/s')}"


def _plain(figure: api.FigureOut | None, unit: str = "") -> str:
    return _UNKNOWN if figure is None else f"{figure.value}{unit}"


def _money(price: api.PriceOut | None, unit: str = "") -> str:
    return _UNKNOWN if price is None else f"{price.value} {price.currency}{unit}"
