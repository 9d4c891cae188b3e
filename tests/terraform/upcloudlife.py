"""A bench with the fake UpCloud and the stand-in of its Terraform provider behind it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from providers import process
from providers.base import CloudInstance, Listing, TerraformRun
from providers.tf.execute import RunResult, execute
from providers.tf.progress import Progress
from providers.tf.statefile import LocalStates
from providers.upcloud.cloud import UpcloudCloud
from tests.fakes.clouds.upcloud import UpcloudServer, upcloud_cloud
from tests.fakes.clouds.upcloud_hands import PLACE, no_sleep, write_settings
from tests.fakes.resources import own
from tests.standins.mirror import mirrored
from tests.terraform.standins import MODULES

SECRET = "ucat_canary"


@dataclass
class UpcloudBench:
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    cloud: UpcloudCloud
    upcloud: UpcloudServer
    state_root: Path
    progress: list[Progress] = field(default_factory=list)

    def execute(self, run: TerraformRun, *, stop: threading.Event | None = None) -> RunResult:
        return execute(
            own(run, self.state_root),
            provider=self.cloud,
            states=LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=self.progress.append,
            stop=stop or threading.Event(),
            timeout_s=120.0,
        )

    def listing(self) -> Listing:
        return self.cloud.list_place(PLACE)

    def terraform_processes(self) -> tuple[int, ...]:
        """Terraform and its plugins, of this bench alone: others on the machine may run theirs."""
        data = process.carrying("TF_DATA_DIR").items()
        return tuple(pid for pid, path in data if Path(path).is_relative_to(self.state_root))

    def vm(self, key: str) -> CloudInstance:
        return next(i for i in self.listing().instances if i.key == key)


@contextmanager
def upcloud_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpcloudBench]:
    """An empty account, and everything Terraform needs to work on it."""
    monkeypatch.setenv("UPCLOUD_TOKEN", SECRET)
    plugins = mirrored(tmp_path / "plugins", "upcloud")
    with upcloud_cloud() as upcloud:
        settings = write_settings(tmp_path / "upcloud.yaml", upcloud, plugins=plugins)
        yield UpcloudBench(UpcloudCloud("test", settings, sleep=no_sleep), upcloud, tmp_path / "states")
