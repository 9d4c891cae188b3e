"""Where the AWS provider of Terraform is on this machine, and a bench with moto behind it."""

import os
import platform
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from providers.aws.cloud import AwsCloud
from providers.tf.progress import RunProgress
from tests.fakes.clouds.aws import MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import PLACE, write_settings
from tests.standins.mirror import MODULES as MODULES
from tests.terraform.cloudbench import MEMORY_FOR_TIME, CloudBench

VERSION = "5.100.0"


def plugin_folders() -> Iterator[Path]:
    """Where mirrors of Terraform providers usually are: Terraform's own implied ones, then what people make."""
    if told := os.environ.get("KEDGE_TEST_TERRAFORM_PLUGINS"):
        yield Path(told)
    home = Path.home()
    data = os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":")
    yield from (Path(folder) / "terraform/plugins" for folder in data)
    yield home / ".local/share/terraform/plugins"
    yield home / ".terraform.d/plugins"
    yield home / ".terraform.d/plugin-cache"
    for top in ("/opt", "/usr/local/lib", "/usr/lib", "/usr/share", "/var/lib"):
        yield from sorted(Path(top).glob("*terraform*"))
        yield from sorted(Path(top).glob("*terraform*/*"))
        yield from sorted(Path(top).glob("tf-*"))


def aws_mirror() -> Path | None:
    """The first folder with the pinned release, unpacked, for this platform; None when the machine has none."""
    return next((folder for folder in plugin_folders() if _executables(folder)), None)


def offered(mirror: Path, below: Path) -> Path:
    """A data folder in which Terraform finds the provider by itself, as `aws.yaml` names it in `plugins`.

    It finds a script that becomes the vendor's program: Terraform reads all that a plugin's folder has in each command,
    for its checksum, and the program is 700 MB.
    """
    folder, executable = below / "plugins", _executables(mirror)[0]
    there = folder / "terraform" / "plugins" / executable.parent.relative_to(mirror)
    there.mkdir(parents=True)
    script = there / executable.name
    memory = " ".join(f"{name}={value}" for name, value in MEMORY_FOR_TIME.items())
    script.write_text(f'#!/bin/sh\n{memory} exec {shlex.quote(str(executable))} "$@"\n')
    script.chmod(0o755)
    return folder


def linked(mirror: Path, below: Path) -> Path:
    """Such a data folder with the vendor's program itself, for measuring what people wait for."""
    folder, executable = below / "plugins", _executables(mirror)[0]
    there = folder / "terraform" / "plugins" / executable.parent.relative_to(mirror)
    there.parent.mkdir(parents=True)
    there.symlink_to(executable.parent.resolve())
    return folder


def _executables(mirror: Path) -> list[Path]:
    system = "darwin" if platform.system() == "Darwin" else "linux"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return list(mirror.glob(f"*/hashicorp/aws/{VERSION}/{system}_{machine}/terraform-provider-aws_v{VERSION}*"))


def terraform(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Terraform by hand in a folder that has its plugins (`offered`), with nothing of the person's environment."""
    (directory / "rc").write_text("disable_checkpoint = true\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "XDG_DATA_DIRS": str(directory / "plugins"),
        "TF_CLI_CONFIG_FILE": str(directory / "rc"),
        "AWS_EC2_METADATA_DISABLED": "true",
        **MEMORY_FOR_TIME,
        **more,
    }
    return subprocess.run(
        ["terraform", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def _mirror_or_skip() -> Path:
    mirror = aws_mirror()
    if mirror is None:
        pytest.skip(
            f"no folder of this machine has Terraform's AWS provider {VERSION}: unpack its release below "
            f"~/.terraform.d/plugins/registry.terraform.io/hashicorp/aws/{VERSION}/linux_amd64 (or your platform), "
            "or name the folder that takes the place of ~/.terraform.d/plugins in KEDGE_TEST_TERRAFORM_PLUGINS"
        )
    return mirror


def initialised_copy(module: Path, directory: Path) -> Path:
    """A module's files in a folder of their own, after `init`. Skips the test where the machine has no provider."""
    offered(_mirror_or_skip(), directory)
    for path in module.glob("*.tf"):
        (directory / path.name).write_text(path.read_text())
    done = terraform(directory, "init", "-no-color")
    assert done.returncode == 0, done.stderr
    return directory


def rules_alone(module: Path, directory: Path) -> Path:
    """A module's variables with their rules and nothing else: what Terraform refuses by these before it asks a provider
    needs none, and this one takes 2.5 s of the processor to be asked for its schema alone."""
    (directory / "variables.tf").write_text((module / "variables.tf").read_text())
    return directory


@dataclass
class AwsBench(CloudBench):
    """A cloud on moto, a state root, and one call that runs the real Terraform with the real provider on them."""

    place = PLACE
    timeout_s = 300.0

    cloud: AwsCloud
    aws: MotoCloud
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)


def bench_on(aws: MotoCloud, folder: Path, mirror: Path) -> AwsBench:
    """A bench with its settings and states below `folder`."""
    settings = write_settings(folder / "aws.yaml", aws, plugins=offered(mirror, folder))
    return AwsBench(AwsCloud("test", settings), aws, folder / "states")


@contextmanager
def aws_bench(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsBench]:
    """A bench on a moto of its own. Skips the test where the machine has no provider."""
    mirror = _mirror_or_skip()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    with moto_cloud() as aws:
        yield bench_on(aws, folder, mirror)
