"""A bench with the fake DigitalOcean, the stand-in for its provider, and the real Terraform between them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from providers.base import TerraformRun
from providers.digitalocean.cloud import DigitaloceanCloud
from providers.tf.progress import RunProgress
from providers.tf.run_folder import processes_of
from tests.fakes.clouds.digitalocean import DigitaloceanFake, digitalocean_cloud
from tests.fakes.clouds.digitalocean_hands import PLACE, DigitaloceanHarness, write_settings
from tests.fakes.clouds.digitalocean_http import Answer
from tests.standins.mirror import mirrored
from tests.terraform.cloudbench import CloudBench


@dataclass
class DigitaloceanBench(CloudBench):
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    place = PLACE

    cloud: DigitaloceanCloud
    fake: DigitaloceanFake
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    @property
    def hands(self) -> DigitaloceanHarness:
        return DigitaloceanHarness(self.cloud, self.fake)

    def kill_during(self, run: TerraformRun, *actions: str) -> None:
        """Kills Terraform and its plugins once the cloud did one of `actions`, before anybody hears; once for each."""
        answer, left, run_id = self.fake.answer, set(actions), self.marked(run).intent_id
        self.has_plugins_to_kill()

        def kill(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            told = answer(method, path, headers, body)
            for action in [a for a in left if a == f"{method} {path}"]:
                left.discard(action)
                for pid in processes_of(run_id):
                    os.kill(pid, signal.SIGKILL)
                if not left:
                    self.has_plugins_to_kill(False)
            return told

        self.fake.answering = kill


@contextmanager
def digitalocean_bench(folder: Path) -> Iterator[DigitaloceanBench]:
    """An empty team; `folder` takes the settings, the plugins and the states."""
    plugins = mirrored(folder / "plugins", "digitalocean")
    with digitalocean_cloud() as fake:
        settings = write_settings(folder / "digitalocean.yaml", fake, plugins=plugins)
        yield DigitaloceanBench(DigitaloceanCloud("test", settings), fake, folder / "states")
