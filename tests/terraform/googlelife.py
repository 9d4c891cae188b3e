"""A bench with the fake Google Cloud, the stand-in for its provider, and the real Terraform between them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from providers.base import CloudInstance, Listing, TerraformRun
from providers.google.cloud import GoogleCloud
from providers.tf.execute import RunResult, execute
from providers.tf.progress import Progress
from providers.tf.statefile import LocalStates
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_hands import PLACE, GoogleHarness, write_settings
from tests.fakes.resources import own
from tests.standins.mirror import mirrored
from tests.terraform.standins import MODULES


@dataclass
class GoogleBench:
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    cloud: GoogleCloud
    google: GoogleFake
    state_root: Path
    progress: list[Progress] = field(default_factory=list)

    @property
    def hands(self) -> GoogleHarness:
        return GoogleHarness(self.cloud, self.google)

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


@contextmanager
def google_bench(folder: Path) -> Iterator[GoogleBench]:
    """An empty project; `folder` takes the settings, the plugins and the states."""
    plugins = mirrored(folder / "plugins", "google")
    with google_fake() as google:
        settings = write_settings(folder / "google.yaml", google, plugins=plugins)
        yield GoogleBench(GoogleCloud("test", settings), google, folder / "states")
