"""Where a broker's figures come from: who is believed, what is missing, what is assumed."""

import json

import pytest

from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, missing_lines, read_capacity, resolve
from planner.drain.model.problem import DocumentRefused, StateProblemKind

GIVEN = FigureSource(origin=FigureOrigin.GIVEN, by_broker={1: Capacity(disk_bytes=500)})
MEASURED = FigureSource(
    origin=FigureOrigin.MEASURED, by_broker={1: Capacity(disk_bytes=900), 2: Capacity(disk_bytes=900)}
)
CATALOGUE = FigureSource(
    origin=FigureOrigin.CATALOGUE,
    by_broker={b: Capacity(disk_bytes=1000, ingress_bytes_per_s=75.0, egress_bytes_per_s=75.0) for b in (1, 2, 3)},
    by_broker_words="75 % of the NIC",
)


def test_each_figure_is_taken_from_the_first_source_that_knows_it() -> None:
    found = resolve([1, 2, 3], [GIVEN, MEASURED, CATALOGUE])
    assert [found.by_broker[b].disk_bytes for b in (1, 2, 3)] == [500, 900, 1000]
    assert {found.by_broker[b].ingress_bytes_per_s for b in (1, 2, 3)} == {75.0}
    assert found.missing == {}


def test_what_nobody_measured_is_an_assumption_with_the_brokers_it_concerns() -> None:
    found = resolve([1, 2, 3], [GIVEN, MEASURED, CATALOGUE])
    assert found.assumptions == (
        "ingress_bytes_per_s and egress_bytes_per_s of all 3 brokers: 75 % of the NIC",
        "disk_bytes of broker 3: 75 % of the NIC",
    )


def test_what_was_given_or_measured_by_broker_is_no_assumption() -> None:
    assert resolve([1, 2], [GIVEN, MEASURED]).assumptions == ()


def test_a_figure_for_all_is_used_where_a_broker_has_none_and_says_so() -> None:
    shared = FigureSource(
        origin=FigureOrigin.GIVEN,
        by_broker={1: Capacity(ingress_bytes_per_s=10.0)},
        everyone=Capacity(ingress_bytes_per_s=20.0),
        everyone_words="as given for all",
    )
    found = resolve([1, 2], [shared])
    assert [found.by_broker[b].ingress_bytes_per_s for b in (1, 2)] == [10.0, 20.0]
    assert found.assumptions == ("ingress_bytes_per_s of broker 2: as given for all",)


def test_what_nobody_knows_stays_missing_and_is_named_by_figure() -> None:
    found = resolve([1, 2, 7], [MEASURED])
    assert found.by_broker[7] == Capacity()
    assert missing_lines(found.missing) == (
        "disk_bytes of broker 7",
        "ingress_bytes_per_s of brokers 1, 2, 7",
        "egress_bytes_per_s of brokers 1, 2, 7",
    )


@pytest.mark.parametrize("amount", [0, -1, float("nan"), float("inf")])
def test_what_is_no_amount_is_refused_not_counted_as_zero(amount: float) -> None:
    with pytest.raises(ValueError, match="must be a number above 0"):
        Capacity(ingress_bytes_per_s=amount)


def test_a_capacity_file_has_figures_by_broker_a_default_and_racks() -> None:
    text = {
        "version": 1,
        "default": {"ingress_bytes_per_s": 2e8, "egress_bytes_per_s": 2e8},
        "brokers": {"1001": {"disk_bytes": 10**12, "rack": "a"}},
    }
    given = read_capacity(json.dumps(text))
    found = resolve([1001, 1002], [given.source])
    assert found.by_broker[1001] == Capacity(disk_bytes=10**12, ingress_bytes_per_s=2e8, egress_bytes_per_s=2e8)
    assert found.missing == {1002: ("disk_bytes",)}
    assert given.racks == {1001: "a"}
    assert found.assumptions == (
        "ingress_bytes_per_s and egress_bytes_per_s of all 2 brokers: the default of the capacity file",
    )


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("{", StateProblemKind.SYNTAX, "file"),
        ('{"version": 2}', StateProblemKind.SHAPE, "version"),
        ('{"version": 1, "broker": {}}', StateProblemKind.SHAPE, "broker"),
        ('{"version": 1, "brokers": {"1": {"disk_bytes": 0}}}', StateProblemKind.FIGURE, "brokers.1.disk_bytes"),
        ('{"version": 1, "brokers": {"1": {"ingress_bytes_per_s": NaN}}}', StateProblemKind.FIGURE, None),
        ('{"version": 1, "brokers": {"one": {}}}', StateProblemKind.SHAPE, None),
    ],
)
def test_a_bad_capacity_file_is_refused_with_the_place(text: str, kind: StateProblemKind, path: str | None) -> None:
    with pytest.raises(DocumentRefused) as refused:
        read_capacity(text)
    (problem, *_) = refused.value.problems
    assert problem.kind is kind
    assert path is None or problem.path == path


def test_what_was_measured_goes_before_the_spec_and_the_catalogue_and_says_where_it_differs() -> None:
    def source(origin: FigureOrigin, rate: float, words: str = "") -> FigureSource:
        figures = Capacity(nic_in_bytes_per_s=rate, disk_write_bytes_per_s=rate)
        return FigureSource(origin=origin, by_broker={1: figures, 2: figures}, by_broker_words=words)

    measured = FigureSource(
        origin=FigureOrigin.MEASURED,
        by_broker={1: Capacity(disk_write_bytes_per_s=50 * 2**20), 2: Capacity(disk_write_bytes_per_s=120 * 2**20)},
    )
    sources = [measured, source(FigureOrigin.CATALOGUE, 125 * 2**20, "as the catalogue says")]
    found = resolve([1, 2, 3], sources)
    assert found.by_broker[1].disk_write_bytes_per_s == 50 * 2**20
    assert found.assumptions == (
        "nic_in_bytes_per_s of brokers 1, 2: as the catalogue says",
        "disk_write_bytes_per_s of broker 1: measured 50.0 MiB/s, where the catalogue says 125.0 MiB/s",
    )
    assert found.origins[1] == {
        "nic_in_bytes_per_s": FigureOrigin.CATALOGUE,
        "disk_write_bytes_per_s": FigureOrigin.MEASURED,
    }
    assert found.origins[3] == {}, "what nobody says is unknown"


def test_hardware_may_be_unknown_and_nothing_is_missing_for_it() -> None:
    assert "nic_in_bytes_per_s" not in resolve([1], [CATALOGUE]).missing.get(1, ())
