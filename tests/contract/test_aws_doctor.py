"""`kedge doctor --cloud aws`, asked of moto: what is right, what is wrong and what to do, one line each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from controlplane.cli.main import app
from tests.fakes.clouds.aws import OTHER_ACCOUNT, MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import write_settings
from tests.fakes.clouds.faults import Fault


@dataclass
class Scene:
    aws: MotoCloud
    file: Path

    def doctor(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["doctor", "--cloud", "aws", *arguments])

    def region(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = yaml.safe_load(self.file.read_text())
        return dict(told["accounts"]["production"]["regions"][name])

    def edit(self, region: str, **changes: object) -> None:
        told = yaml.safe_load(self.file.read_text())
        told["accounts"]["production"]["regions"][region].update(changes)
        self.file.write_text(yaml.safe_dump(told))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    with moto_cloud() as aws:
        yield Scene(aws, write_settings(tmp_path / "aws.yaml", aws))


def test_a_cloud_that_is_ready_says_so_line_by_line(scene: Scene) -> None:
    ran = scene.doctor()
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines].count("WRONG") == 0
    for words in ("credentials: they are of this account", "subnets: free addresses", "image of 4.2.0 for arm64"):
        assert any(words in line and line.startswith("ok") for line in lines), words
    assert sum(line.startswith("ok") and "quota" in line for line in lines) == 4, "two for each region"
    assert "canary-secret" not in ran.output


def test_limits_that_may_not_be_read_are_unknown_and_say_what_is_missing(scene: Scene) -> None:
    scene.aws.faults.append(Fault("GetServiceQuota", "AccessDeniedException", 403, times=99))
    told = {f["what"]: f for f in json.loads(scene.doctor("-o", "json").stdout)["findings"] if "quota" in f["what"]}
    assert {f["well"] for f in told.values()} == {None}
    assert all("servicequotas:GetServiceQuota" in f["whatNext"] for f in told.values())


def test_another_account_is_told_and_nothing_behind_it_is_asked(scene: Scene) -> None:
    scene.aws.account = OTHER_ACCOUNT
    ran = scene.doctor()
    assert ran.exit_code == 1
    assert f"the credentials are of account {OTHER_ACCOUNT}" in ran.stdout
    assert scene.aws.calls["DescribeImages"] == 0


def test_what_the_settings_name_and_aws_has_not_is_told(scene: Scene) -> None:
    (there,) = {image for by in scene.region("eu-west-1")["images"].values() for image in by.values()}
    scene.edit(
        "eu-west-1",
        images={"4.2.0": {"arm64": "ami-0123456789abcdef0", "x86_64": there}},
        security_groups=["sg-0123456789abcdef0"],
        subnets={"eu-west-1a": "subnet-0123456789abcdef0"},
    )
    scene.edit("eu-central-1", images={})
    ran = scene.doctor("-o", "json")
    assert ran.exit_code == 1
    wrong = {f["what"]: f for f in json.loads(ran.stdout)["findings"] if f["well"] is False}
    assert set(wrong) == {
        "aws/production/eu-central-1: images",
        "aws/production/eu-west-1: image of 4.2.0 for arm64",
        "aws/production/eu-west-1: image of 4.2.0 for x86_64",
        "aws/production/eu-west-1: security groups",
        "aws/production/eu-west-1: subnets",
    }
    assert all(finding["whatNext"] for finding in wrong.values())
    assert "is for arm64" in wrong["aws/production/eu-west-1: image of 4.2.0 for x86_64"]["told"]


@pytest.mark.parametrize(
    ("code", "status", "what_next"),
    [
        ("AuthFailure", 401, "Check the credentials of the account profile"),
        ("UnauthorizedOperation", 403, "of the account profile what they lack (docs/clouds/policies has all of it)"),
    ],
)
def test_a_cloud_that_refuses_is_told_with_what_to_do(scene: Scene, code: str, status: int, what_next: str) -> None:
    scene.aws.faults.append(Fault("DescribeInstances", code, status, times=99))
    ran = scene.doctor()
    assert ran.exit_code == 1
    assert what_next in " ".join(ran.stdout.split())


def test_without_settings_it_says_which_file_is_missing(scene: Scene) -> None:
    scene.file.unlink()
    ran = scene.doctor()
    assert ran.exit_code == 1
    assert str(scene.file) in ran.stdout.replace("\n", "")


def test_local_needs_no_account(scene: Scene) -> None:
    ran = CliRunner().invoke(app, ["doctor", "--cloud", "local"])
    assert (ran.exit_code, "local needs no account" in ran.stdout) == (0, True)
