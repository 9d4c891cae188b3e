"""What clouds sell, as tables: a figure nobody has read is `unknown`, and each price says where it is from."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from controlplane.cli.tables import listing
from controlplane.cli.terminal import styled
from providers.figures import Figure, Price
from providers.offers import DiskOffer, MachineOffer, Offers
from providers.racks import Racks

_UNKNOWN = "unknown"
_MACHINES = ("TYPE", "SIZE", "ARCH", "VCPUS", "MEMORY", "NIC", "OWN DISK", "HOUR", "MONTH", "FROM")
_DISKS = ("DISK", "TYPE", "SPEED", "IOPS", "GIB A MONTH", "FROM")


def offers_lines(offers: Offers, today: date) -> Iterator[RenderableType]:
    """One region: its machines, its disks, and what the numbers under FROM stand for."""
    yield styled(f"{offers.cloud} {offers.region or '(no region: no prices)'}", "bold")
    sources = _Sources(today)
    yield listing(_MACHINES, [_machine(one, sources) for one in offers.machines.values()])
    yield listing(_DISKS, [_disk(one, sources) for one in offers.disks.values()])
    crossing = offers.cross_zone_per_gib
    yield styled(f"from zone to zone: {_money(crossing, ' a GiB')}{f' [{sources.of(crossing)}]' if crossing else ''}")
    leaving = offers.egress_per_gib
    yield styled(f"out of the region: {_money(leaving, ' a GiB')}{f' [{sources.of(leaving)}]' if leaving else ''}")
    for one in offers.racks:
        zones = f" (zones with {one.zones})" if one.zones else ""
        yield styled(f"a rack is a {one.kind}{zones}: {one.apart} [{sources.of(one)}]")
    yield from sources.lines()


def offers_document(offers: Offers, today: date) -> dict[str, Any]:
    """The same for scripts: a figure is an object, or null for unknown."""
    return {
        "cloud": offers.cloud,
        "region": offers.region or None,
        "machines": [
            {
                "type": one.type,
                "size": one.size or None,
                "architecture": one.architecture,
                **{name: _figure(figure, today) for name, figure in one.figures()},
            }
            for one in offers.machines.values()
        ],
        "disks": [
            {
                "kind": one.kind,
                "type": one.type,
                "outlives_vm": one.outlives_vm,
                **{name: _figure(figure, today) for name, figure in one.figures()},
            }
            for one in offers.disks.values()
        ],
        "racks": [
            {"kind": str(r.kind), "zones": r.zones or None, "apart": r.apart, "source": r.source, "read": str(r.read)}
            for r in offers.racks
        ],
        "cross_zone_per_gib": _figure(offers.cross_zone_per_gib, today),
        "egress_per_gib": _figure(offers.egress_per_gib, today),
    }


class _Sources:
    """Numbers for sources, in the order they are met."""

    def __init__(self, today: date) -> None:
        self._today = today
        self._numbers: dict[tuple[str, date], int] = {}

    def of(self, *figures: Figure | Racks | None) -> str:
        """The numbers of the sources of some figures, as in `1, 2`."""
        numbers = [
            self._numbers.setdefault((f.source, f.read), len(self._numbers) + 1) for f in figures if f is not None
        ]
        return ", ".join(map(str, sorted(set(numbers)))) or "-"

    def lines(self) -> Iterator[Text]:
        """What each number stands for, and how old it is."""
        for (source, read), number in self._numbers.items():
            age = (self._today - read).days
            is_old = Figure(Decimal(0), source, read).is_old(self._today)
            flag = ", OLD" if is_old else ""
            yield styled(f"  [{number}] {source} (read {read}, {age} d ago{flag})", "yellow" if is_old else "dim")


def _machine(one: MachineOffer, sources: _Sources) -> list[Text | str]:
    figures = [figure for _, figure in one.figures()]
    return [
        one.type,
        one.size or "-",
        one.architecture,
        _plain(one.vcpus),
        _memory(one.memory_mib),
        _nic(one),
        _plain(one.own_disk_gb, " GB"),
        _money(one.price_per_hour),
        _money(one.price_per_month),
        sources.of(*figures),
    ]


def _disk(one: DiskOffer, sources: _Sources) -> list[Text | str]:
    speed = one.bytes_per_s
    return [
        one.kind,
        one.type,
        _UNKNOWN if speed is None else f"{speed.value / 2**20:.0f} MiB/s",
        _plain(one.iops),
        _money(one.price_per_gib_month),
        sources.of(*(figure for _, figure in one.figures())),
    ]


def _nic(one: MachineOffer) -> str:
    """Sustained, and in bursts up to."""
    steady, burst = one.nic_baseline_gbps, one.nic_burst_gbps
    if burst is None:
        return _plain(steady, " Gbit/s")
    return f"{_plain(steady)}, up to {_plain(burst, ' Gbit/s')}"


def _memory(figure: Figure | None) -> str:
    return _UNKNOWN if figure is None else f"{(figure.value / 1024).normalize():f} GiB"


def _plain(figure: Figure | None, unit: str = "") -> str:
    return _UNKNOWN if figure is None else f"{figure.value.normalize():f}{unit}"


def _money(price: Price | None, unit: str = "") -> str:
    return _UNKNOWN if price is None else f"{price.value.normalize():f} {price.currency}{unit}"


def _figure(figure: Figure | None, today: date) -> dict[str, Any] | None:
    if figure is None:
        return None
    told: dict[str, Any] = {"value": f"{figure.value.normalize():f}"}
    if isinstance(figure, Price):
        told["currency"] = figure.currency
    age = (today - figure.read).days
    return told | {"source": figure.source, "read": str(figure.read), "age_days": age, "old": figure.is_old(today)}
