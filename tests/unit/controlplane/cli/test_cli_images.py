"""`kedge images`: the table, one revision whole, publishing from a file and from options, withdrawing."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import images as api
from tests.unit.controlplane.cli.cli_world import START, World

PUBLISHED = api.ImagePublishedOut(name="4.2.0-r3", sentence="4.2.0-r3 is published")


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def an_image(**changes: Any) -> api.ImageOut:
    fields: dict[str, Any] = {
        "name": "4.2.0-r3",
        "kafka": "4.2.0",
        "number": 3,
        "security": "critical",
        "reason": "CVE-2026-1",
        "notes": "",
        "withdrawn": "",
        "published_at": START - timedelta(hours=1),
        "published_by": "user:anna",
        "images": {"aws/eu-west-1": {"arm64": "ami-2"}},
        "archive": "",
        "sha256": "",
        "on": [api.ClusterAtOut(name="stage", stage="staging", vms=6, of=6)],
        "due": [api.ClusterAtOut(name="orders", stage="production", vms=0, of=6, why="waits for stage")],
        "left": [],
    }
    return api.ImageOut(**fields | changes)


def test_the_catalogue_is_a_table(world: World) -> None:
    world.server.on("GET", "/images", api.ImagesOut(items=[an_image()]))
    for verb in (["images"], ["images", "list"]):
        head, line = world.run(*verb).stdout.splitlines()
        assert head.split()[:3] == ["NAME", "SECURITY", "STATE"]
        assert all(word in line for word in ("4.2.0-r3", "critical", "published", "CVE-2026-1"))
    assert json.loads(world.run("images", "-o", "json").stdout)["items"][0]["due"][0]["name"] == "orders"


def test_one_revision_names_every_cluster_and_what_it_waits_for(world: World) -> None:
    world.server.on("GET", "/images/4.2.0-r3", an_image(withdrawn="its VMs do not boot"))
    told = world.run("images", "show", "4.2.0-r3").stdout
    assert "published 1 h ago by user:anna" in told
    assert "withdrawn: its VMs do not boot" in told
    assert "aws/eu-west-1: arm64 ami-2" in told
    line = next(line for line in told.splitlines() if line.startswith("orders"))
    assert all(word in line for word in ("production", "0 of 6", "waits for stage"))


def test_a_file_is_sent_as_it_is_written(world: World, tmp_path: Path) -> None:
    world.server.on("POST", "/images", PUBLISHED)
    file = tmp_path / "image.yaml"
    file.write_text("kafka: 4.2.0\nnumber: 3\nimages:\n  digitalocean/fra1: {x86_64: 0123}\n")
    result = world.run("images", "publish", str(file))
    assert (result.exit_code, result.stdout) == (0, "4.2.0-r3 is published\n")
    sent = world.server.bodies("POST", "/images")[-1]
    assert (sent["number"], sent["images"]) == (3, {"digitalocean/fra1": {"x86_64": "0123"}})


def test_options_say_the_same(world: World) -> None:
    world.server.on("POST", "/images", PUBLISHED)
    options = ["--image", "aws/eu-west-1/arm64=ami-2", "--image", "aws/eu-west-1/x86_64=ami-1"]
    result = world.run("images", "publish", "--kafka", "4.2.0", *options, "--security", "high", "--reason", "CVE-1")
    assert result.exit_code == 0, result.stderr
    sent = world.server.bodies("POST", "/images")[-1]
    assert sent["images"] == {"aws/eu-west-1": {"arm64": "ami-2", "x86_64": "ami-1"}}
    assert (sent["security"], sent["reason"]) == ("high", "CVE-1")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--kafka", "4.2.0"], "needs `images`"),
        (["--kafka", "4.2.0", "--image", "ami-1"], "CLOUD/REGION/ARCHITECTURE=ID"),
        (["--kafka", "4.2", "--image", "aws/eu-west-1/any=ami-1"], "`kafka`"),
        (["--kafka", "4.2.0", "--image", "aws/eu-west-1/any=ami-1", "--security", "high"], "`reason` has to say"),
        (["image.yaml", "--kafka", "4.2.0"], "a file or options, not both"),
        (["missing.yaml"], "cannot read the file"),
    ],
)
def test_what_makes_no_sense_is_never_sent(world: World, arguments: list[str], word: str) -> None:
    result = world.run("images", "publish", *arguments)
    assert result.exit_code != 0
    assert word in result.stderr


def test_a_withdrawal_carries_its_reason(world: World) -> None:
    world.server.on("POST", "/images/4.2.0-r3/withdraw", api.ImagePublishedOut(name="4.2.0-r3", sentence="withdrawn"))
    assert world.run("images", "withdraw", "4.2.0-r3", "--reason", "bad").stdout == "withdrawn\n"
    assert world.server.bodies("POST", "/images/4.2.0-r3/withdraw")[-1] == {"reason": "bad"}
