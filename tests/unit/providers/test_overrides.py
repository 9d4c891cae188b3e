"""`catalog.yaml`: what it may say, what is laid over what, and that reading again loses nothing."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.errors import PlaceUnknown
from providers.overrides import Overrides, RegionIn, as_text, laid_over, read_overrides


def region(source: str = "page", day: str = "2026-01-01", **machines: dict[str, str]) -> dict[str, Any]:
    """A region with prices per hour in EUR, by type."""
    return {
        "sources": {source: {"what": f"{source} of {day}", "read": day}},
        "machines": {
            name: {figure: {"value": value, "source": source, "currency": "EUR"} for figure, value in told.items()}
            for name, told in machines.items()
        },
    }


def read(tmp_path: Path, content: Any) -> Overrides:
    path = tmp_path / "catalog.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return read_overrides(path)


def test_no_file_is_no_override(tmp_path: Path) -> None:
    assert read_overrides(tmp_path / "catalog.yaml") == Overrides()


def test_an_empty_file_is_no_override(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Overrides()


def test_a_price_written_as_a_number_keeps_its_digits(tmp_path: Path) -> None:
    text = """
hetzner:
  eu-central:
    sources: {page: {what: a price page, read: 2026-01-01}}
    machines:
      ccx13: {price_per_hour: {value: 0.0312, currency: EUR, source: page}}
"""
    told = read(tmp_path, text).region("hetzner", "eu-central").machines["ccx13"].price_per_hour
    assert told is not None
    assert told.value == Decimal("0.0312")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"value": "-1"}, "greater than or equal to 0"),
        ({"value": "NaN"}, "finite"),
        ({"source": "memory"}, "no such source here: memory"),
        ({"currency": "euro"}, "currency"),
        ({"per": "hour"}, "Extra inputs are not permitted"),
    ],
)
def test_a_figure_that_makes_no_sense_is_refused_by_its_place(tmp_path: Path, edit: dict[str, str], says: str) -> None:
    told = region(ccx13={"price_per_hour": "1"})
    told["machines"]["ccx13"]["price_per_hour"].update(edit)
    with pytest.raises(PlaceUnknown, match=says) as refused:
        read(tmp_path, {"hetzner": {"eu-central": told}})
    assert "catalog.yaml: hetzner.eu-central" in str(refused.value)


@pytest.mark.parametrize("missing", ["what", "read"])
def test_a_source_has_words_and_a_day(tmp_path: Path, missing: str) -> None:
    told = region(ccx13={"price_per_hour": "1"})
    del told["sources"]["page"][missing]
    with pytest.raises(PlaceUnknown, match="Field required"):
        read(tmp_path, {"hetzner": {"eu-central": told}})


def test_what_is_no_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceUnknown, match="is not YAML"):
        read(tmp_path, "a: [")


def test_a_file_written_and_read_again_is_the_same(tmp_path: Path) -> None:
    told = Overrides.model_validate({"hetzner": {"eu-central": region(ccx13={"price_per_hour": "0.0312"})}})
    assert read(tmp_path, as_text(told)) == told


def test_a_fresh_figure_wins_and_one_that_was_not_read_again_keeps_its_day() -> None:
    old = RegionIn.model_validate(
        region(
            "old", "2026-01-01", ccx13={"price_per_hour": "1", "price_per_month": "700"}, ccx23={"price_per_hour": "2"}
        )
    )
    fresh = RegionIn.model_validate(region("fresh", "2026-05-01", ccx13={"price_per_hour": "3"}))
    laid = laid_over(old, fresh)
    hour, month = laid.machines["ccx13"].price_per_hour, laid.machines["ccx13"].price_per_month
    price = laid.price(hour)
    kept = laid.price(month)
    assert price is not None
    assert kept is not None
    assert (price.value, price.read) == (Decimal(3), date(2026, 5, 1))
    assert (kept.value, kept.read) == (Decimal(700), date(2026, 1, 1))
    assert laid.machines["ccx23"] == old.machines["ccx23"]


def test_a_source_nothing_rests_on_any_more_leaves_the_file() -> None:
    old = RegionIn.model_validate(region("old", "2026-01-01", ccx13={"price_per_hour": "1"}))
    fresh = RegionIn.model_validate(region("fresh", "2026-05-01", ccx13={"price_per_hour": "3"}))
    assert list(laid_over(old, fresh).sources) == ["fresh"]


def test_one_source_of_two_days_is_refused() -> None:
    """Else an old figure would take the fresh one's day."""
    old = RegionIn.model_validate(region("api", "2026-01-01", ccx23={"price_per_hour": "1"}))
    fresh = RegionIn.model_validate(region("api", "2026-05-01", ccx13={"price_per_hour": "3"}))
    with pytest.raises(ValueError, match="was read on two days"):
        laid_over(old, fresh)


def test_laying_over_leaves_other_regions_and_clouds_alone() -> None:
    one = RegionIn.model_validate(region(ccx13={"price_per_hour": "1"}))
    file = Overrides().with_region("hetzner", "eu-central", one).with_region("aws", "eu-west-1", one)
    fresh = RegionIn.model_validate(region("fresh", "2026-05-01", ccx13={"price_per_hour": "3"}))
    after = file.with_region("hetzner", "us-east", fresh)
    assert after.region("hetzner", "eu-central") == file.region("hetzner", "eu-central")
    assert after.region("aws", "eu-west-1") == file.region("aws", "eu-west-1")
    assert after.regions("hetzner") == ("eu-central", "us-east")
