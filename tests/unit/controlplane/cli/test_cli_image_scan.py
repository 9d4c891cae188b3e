"""`kedge images scan`: a table for people, a document for pipelines, an exit status that tells unknown from safe."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.controlplane.cli.cli_world import World

PURL = "pkg:deb/debian/libssl3@{version}?arch=amd64&distro=debian-12&upstream=openssl"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def an_sbom(path: Path, version: str, *others: dict[str, Any]) -> str:
    parts = [{"name": "libssl3", "version": version, "purl": PURL.format(version=version)}, *others]
    path.write_text(json.dumps({"bomFormat": "CycloneDX", "components": parts}))
    return str(path)


@pytest.fixture
def tracker(tmp_path: Path) -> str:
    release = {"status": "resolved", "fixed_version": "3.0.16-1", "urgency": "high"}
    told = {"openssl": {"CVE-2026-1": {"releases": {"bookworm": release}}}}
    (tmp_path / "tracker.json").write_text(json.dumps(told))
    return str(tmp_path / "tracker.json")


def test_findings_are_a_table_with_the_flag_for_the_next_image(world: World, tmp_path: Path, tracker: str) -> None:
    ran = world.run("images", "scan", an_sbom(tmp_path / "old.cdx.json", "3.0.15-1"), "--vulnerabilities", tracker)
    assert ran.exit_code == 5
    rows = [line.split() for line in ran.stdout.splitlines()]
    assert ["PACKAGE", "INSTALLED", "FIXED", "IN", "SEVERITY", "ID"] in rows
    assert ["libssl3", "3.0.15-1", "3.0.16-1", "high", "CVE-2026-1"] in rows
    assert ["security:", "high"] in rows
    assert ["reason:", "CVE-2026-1"] in rows


def test_an_image_is_flagged_by_what_it_is_rid_of(world: World, tmp_path: Path, tracker: str) -> None:
    old, new = an_sbom(tmp_path / "old.cdx.json", "3.0.15-1"), an_sbom(tmp_path / "new.cdx.json", "3.0.16-1")
    ran = world.run("images", "scan", new, "--before", old, "--vulnerabilities", tracker, "-o", "json")
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["kind"], told["vulnerable"], told["clear"]) == (0, "ImageScan", [], 1)
    assert told["flag"] == {"security": "high", "reason": "CVE-2026-1"}


def test_nothing_found_but_not_everything_known_is_no_success(world: World, tmp_path: Path, tracker: str) -> None:
    jar = {"name": "jolokia.jar", "version": "2", "purl": "pkg:generic/jolokia.jar"}
    ran = world.run("images", "scan", an_sbom(tmp_path / "b.cdx.json", "3.0.16-1", jar), "--vulnerabilities", tracker)
    assert ran.exit_code == 6
    assert "1 part of the image unknown, which is not safe" in ran.stdout
    assert "jolokia.jar" in ran.stdout


@pytest.mark.parametrize(("distro", "status"), [("debian-12.9", 0), ("debian-11", 6), ("ubuntu-24.04", 6)])
def test_versions_of_another_release_are_not_held_to_those_of_this_one(
    world: World, tmp_path: Path, tracker: str, distro: str, status: int
) -> None:
    """Other writers name the point release as well."""
    sbom = an_sbom(tmp_path / "b.cdx.json", "3.0.16-1")
    Path(sbom).write_text(Path(sbom).read_text().replace("debian-12", distro))
    assert world.run("images", "scan", sbom, "--vulnerabilities", tracker).exit_code == status


def test_an_image_is_scanned_by_the_sbom_beside_it(world: World, tmp_path: Path, tracker: str) -> None:
    an_sbom(tmp_path / "kedge-4.2.0-amd64.cdx.json", "3.0.16-1")
    for name in ("kedge-4.2.0-amd64.raw", "kedge-4.2.0-amd64.manifest.json"):
        ran = world.run("images", "scan", str(tmp_path / name), "--vulnerabilities", tracker)
        assert ran.exit_code == 0


@pytest.mark.parametrize(
    ("image", "source", "why"),
    [
        ("none.raw", "tracker.json", "has no SBOM beside it (none.cdx.json)"),
        ("none.cdx.json", "tracker.json", "cannot be read"),
        ("tracker.json", "tracker.json", "is no SBOM"),
        ("empty.cdx.json", "tracker.json", "names no component"),
        ("good.cdx.json", "none.json", "cannot be read"),
        ("good.cdx.json", "good.cdx.json", "neither Debian's tracker nor OSV"),
        ("good.cdx.json", "http://127.0.0.1:1/data", "cannot be fetched"),
    ],
)
def test_what_cannot_be_scanned_is_told_and_is_no_success(
    world: World, tmp_path: Path, tracker: str, image: str, source: str, why: str
) -> None:
    an_sbom(tmp_path / "good.cdx.json", "3.0.16-1")
    (tmp_path / "empty.cdx.json").write_text('{"bomFormat": "CycloneDX"}')
    place = source if "://" in source else str(tmp_path / source)
    ran = world.run("images", "scan", str(tmp_path / image), "--vulnerabilities", place)
    assert ran.exit_code == 1
    assert "error: nothing was scanned" in ran.stderr
    assert why in " ".join(ran.stderr.split())


def test_a_severity_nobody_has_is_told(world: World, tmp_path: Path, tracker: str) -> None:
    sbom = an_sbom(tmp_path / "b.cdx.json", "1")
    ran = world.run("images", "scan", sbom, "--vulnerabilities", tracker, "--at-least", "grave")
    assert (ran.exit_code, "no severity 'grave'" in ran.stderr) == (1, True)
