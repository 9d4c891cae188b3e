"""Refusals about places: zones that are none of their region, where a cloud names its zones after regions."""

from pathlib import Path

import pytest

from events.spec.document import load_documents

EXAMPLE = (Path(__file__).parents[3] / "examples" / "aws-orders.yaml").read_text()


@pytest.mark.parametrize("zone", ["eu-west-2c", "c", "eu-west-1", "eu-west-1-lax-1a"])
def test_a_zone_of_aws_is_its_region_and_a_letter(zone: str) -> None:
    found = load_documents(EXAMPLE.replace("eu-west-1c]", f"{zone}]").encode(), file="orders.yaml").problems
    assert [one.code for one in found] == ["KEDGE-SPEC-039"] * 2
    assert f"is in zone `{zone}`, which is not a zone of region `eu-west-1`" in found[0].message
    assert "eu-west-1a, eu-west-1b" in found[0].fix


def test_a_zone_of_aws_may_be_a_partition_of_a_placement_group() -> None:
    racks = EXAMPLE.replace("eu-west-1c]", "eu-west-1c-p7]").encode()
    assert load_documents(racks, file="orders.yaml").problems == load_documents(EXAMPLE.encode(), file="o").problems
    eighth = EXAMPLE.replace("eu-west-1c]", "eu-west-1c-p8]").encode()
    assert {one.code for one in load_documents(eighth, file="orders.yaml").problems} == {"KEDGE-SPEC-039"}


def test_zones_of_the_local_cloud_are_letters() -> None:
    text = (Path(__file__).parents[3] / "examples" / "orders.yaml").read_text()
    assert load_documents(text.encode(), file="orders.yaml").problems == ()
