"""A bench with the fake UpCloud and the stand-in of its Terraform provider behind it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from providers import process
from providers.tf.progress import RunProgress
from providers.upcloud.cloud import UpcloudCloud
from tests.fakes.clouds.upcloud import UpcloudServer, upcloud_cloud
from tests.fakes.clouds.upcloud_hands import PLACE, no_sleep, write_settings
from tests.standins.mirror import mirrored
from tests.terraform.cloudbench import CloudBench

SECRET = "ucat_canary"


@dataclass
class UpcloudBench(CloudBench):
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    place = PLACE

    cloud: UpcloudCloud
    upcloud: UpcloudServer
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    def terraform_processes(self) -> tuple[int, ...]:
        """Terraform and its plugins, of this bench alone: others on the machine may run theirs."""
        data = process.carrying("TF_DATA_DIR").items()
        return tuple(pid for pid, path in data if Path(path).is_relative_to(self.state_root))


@contextmanager
def upcloud_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpcloudBench]:
    """An empty account, and everything Terraform needs to work on it."""
    monkeypatch.setenv("UPCLOUD_TOKEN", SECRET)
    plugins = mirrored(tmp_path / "plugins", "upcloud")
    with upcloud_cloud() as upcloud:
        settings = write_settings(tmp_path / "upcloud.yaml", upcloud, plugins=plugins)
        yield UpcloudBench(UpcloudCloud("test", settings, sleep=no_sleep), upcloud, tmp_path / "states")
