"""VMs made from a revision of the image catalogue: its ids and its archive in place of those of the settings."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from providers.base import InstanceResource
from providers.cloud_init import born_with
from providers.errors import PlaceUnknown
from providers.local.cloud import LocalCloud
from providers.local.image_dir import image_dir
from providers.local.reap import reap
from providers.local.verbs import perform
from providers.made_from import MadeFrom
from providers.software import Software
from providers.variables import image_for
from tests.fakes.resources import UID, instance, resources
from tests.waiting import until

R3 = MadeFrom("4.1.1-r3", {"arm64": "ami-2", "any": "ami-9"})
OF_THE_SETTINGS = {"4.1.1": {"arm64": "ami-1", "x86_64": "ami-1"}}
SHA = "ab" * 32


def made_from(made: MadeFrom | None) -> InstanceResource:
    return replace(instance("n-0"), made_from=made)


def image(made: MadeFrom | None, architecture: str = "arm64") -> object:
    kind: Any = SimpleNamespace(architecture=architecture, type="m7g.large")
    wanted = made_from(made)
    return image_for(resources(wanted), wanted, OF_THE_SETTINGS, kind)


def test_the_revisions_image_goes_before_that_of_the_settings() -> None:
    assert image(None) == "ami-1"
    assert image(R3) == "ami-2"
    assert image(R3, "x86_64") == "ami-9"


def test_a_revision_that_is_only_an_archive_leaves_the_image_to_the_settings() -> None:
    assert image(MadeFrom("4.1.1-r3", {}, "https://mirror.example/k.tgz", SHA)) == "ami-1"


def test_a_processor_the_revision_has_nothing_for_is_refused_by_name() -> None:
    with pytest.raises(PlaceUnknown, match=r"4\.1\.1-r3 has none for x86_64 there; it has one for arm64"):
        image(MadeFrom("4.1.1-r3", {"arm64": "ami-2"}), "x86_64")


def test_a_plain_image_fetches_the_revisions_archive_by_its_checksum() -> None:
    file = {"url": "https://mirror.example/old.tgz", "sha256": SHA}
    software = Software.model_validate({"agent": file, "kafka": {"4.1.1": file}})
    new = MadeFrom("4.1.1-r3", {}, "https://mirror.example/new.tgz", "cd" * 32)

    def kafka(made: MadeFrom | None) -> tuple[str, str]:
        told = yaml.safe_load(born_with(made_from(made), software))
        (text,) = [f["content"] for f in told["write_files"] if f["path"] == "/etc/kedge/software.json"]
        part = next(p for p in json.loads(text)["parts"] if p.get("strip") == "1")
        return part["url"], part["sha256"]

    assert kafka(None) == (file["url"], SHA)
    assert kafka(R3) == (file["url"], SHA)
    assert kafka(new) == ("https://mirror.example/new.tgz", "cd" * 32)
    assert software.kafka["4.1.1"].sha256 == SHA, "the settings are left as they are"


def test_a_build_that_the_spec_names_is_never_left_out_where_vms_fetch_nothing() -> None:
    """The archive of a revision may be: what has images of its own needs none. A spec's build is what was asked for."""
    own, archive = MadeFrom("", {}, "https://mirror.example/own.tgz", SHA), "https://mirror.example/new.tgz"
    with pytest.raises(PlaceUnknown, match="the spec names a build of Kafka of its own, and VMs there fetch nothing"):
        born_with(made_from(own), None)
    assert born_with(made_from(MadeFrom("4.1.1-r3", {}, archive, SHA)), None) == born_with(made_from(None), None)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    (tmp_path / "kafka" / "r3" / "4.1.1" / "libs").mkdir(parents=True)
    return LocalCloud(tmp_path / "cloud", "test", sys.executable, kafka_dir=tmp_path / "kafka")


def tags_of(cloud: LocalCloud, made: MadeFrom | None) -> dict[str, str]:
    variables: dict[str, Any] = cloud.variables(resources(made_from(made)))
    tags: dict[str, str] = variables["instances"]["n-0.g1"]["tags"]
    return tags


def test_an_image_of_the_local_cloud_is_a_directory_of_releases(cloud: LocalCloud, tmp_path: Path) -> None:
    plain = tags_of(cloud, None)
    assert image_dir(str(tmp_path / "kafka"), plain) == str(tmp_path / "kafka")
    own = tags_of(cloud, MadeFrom("4.1.1-r3", {"any": "r3"}))
    assert image_dir(str(tmp_path / "kafka"), own) == str(tmp_path / "kafka" / "r3")
    assert {k: v for k, v in own.items() if k in plain} == plain


@pytest.mark.parametrize("wrong", ["r4", "../kafka/r3", "/etc"])
def test_a_directory_that_is_not_there_or_lies_elsewhere_is_refused(cloud: LocalCloud, wrong: str) -> None:
    with pytest.raises(PlaceUnknown, match="there is no"):
        tags_of(cloud, MadeFrom("4.1.1-r3", {"any": wrong}))


def test_a_vm_of_the_local_cloud_finds_its_kafka_in_its_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    (tmp_path / "kafka" / "r3" / "4.1.1" / "libs").mkdir(parents=True)
    told = ("/bin/sh", "-c", 'echo "$KEDGE_KAFKA_DIR" > found; exec sleep 600')
    cloud = LocalCloud(tmp_path / "cloud", "test", sys.executable, kafka_dir=tmp_path / "kafka", command=told)
    variables: dict[str, Any] = cloud.variables(resources(made_from(MadeFrom("4.1.1-r3", {"any": "r3"}))))
    request = {
        "installation_id": "test",
        "cluster_uid": UID,
        "region": "local-1",
        "root": str(cloud.root),
        "python": sys.executable,
        "key": "n-0.g1",
        **variables["instances"]["n-0.g1"],
    }
    found = cloud.root / "local-1" / "instances" / UID / "n-0.g1" / "found"
    try:
        perform("create-instance", request)
        until(lambda: found.exists() and bool(found.read_text()), "the VM to boot")
        assert found.read_text().strip() == str(tmp_path / "kafka" / "r3")
    finally:
        reap(cloud.root)
