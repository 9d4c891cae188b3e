"""A bench with the fake DigitalOcean, the stand-in for its provider, and the real Terraform between them."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from providers.base import CloudInstance, Listing, TerraformRun
from providers.digitalocean.cloud import DigitaloceanCloud
from providers.tf.execute import RunResult, execute
from providers.tf.progress import Progress
from providers.tf.runfolder import processes_of
from providers.tf.statefile import LocalStates
from tests.fakes.clouds.digitalocean import DigitaloceanFake, digitalocean_cloud
from tests.fakes.clouds.digitalocean_hands import PLACE, DigitaloceanHarness, write_settings
from tests.fakes.clouds.digitalocean_http import Answer
from tests.fakes.resources import own
from tests.standins.mirror import mirrored
from tests.terraform.standins import MODULES


@dataclass
class DigitaloceanBench:
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    cloud: DigitaloceanCloud
    fake: DigitaloceanFake
    state_root: Path
    progress: list[Progress] = field(default_factory=list)

    @property
    def hands(self) -> DigitaloceanHarness:
        return DigitaloceanHarness(self.cloud, self.fake)

    def execute(self, run: TerraformRun, *, stop: threading.Event | None = None) -> RunResult:
        return execute(
            self.marked(run),
            provider=self.cloud,
            states=LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=self.progress.append,
            stop=stop or threading.Event(),
            timeout_s=120.0,
        )

    def marked(self, run: TerraformRun) -> TerraformRun:
        return own(run, self.state_root)

    def listing(self) -> Listing:
        return self.cloud.list_place(PLACE)

    def vm(self, key: str) -> CloudInstance:
        return next(i for i in self.listing().instances if i.key == key)

    def kill_during(self, run: TerraformRun, *actions: str) -> None:
        """Kills Terraform and its plugins once the cloud did one of `actions`, before anybody hears; once for each."""
        answer, left, run_id = self.fake.answer, set(actions), self.marked(run).intent_id

        def kill(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            told = answer(method, path, headers, body)
            for action in [a for a in left if a == f"{method} {path}"]:
                left.discard(action)
                for pid in processes_of(run_id):
                    os.kill(pid, signal.SIGKILL)
            return told

        self.fake.answering = kill


@contextmanager
def digitalocean_bench(folder: Path) -> Iterator[DigitaloceanBench]:
    """An empty team; `folder` takes the settings, the plugins and the states."""
    plugins = mirrored(folder / "plugins", "digitalocean")
    with digitalocean_cloud() as fake:
        settings = write_settings(folder / "digitalocean.yaml", fake, plugins=plugins)
        yield DigitaloceanBench(DigitaloceanCloud("test", settings), fake, folder / "states")
