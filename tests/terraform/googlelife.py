"""A bench with the fake Google Cloud, the stand-in for its provider, and the real Terraform between them."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from providers.base import CloudInstance, Listing, TerraformRun
from providers.google.cloud import GoogleCloud
from providers.tf.execute import RunResult, execute
from providers.tf.progress import Progress
from providers.tf.statefile import LocalStates
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_hands import PLACE, GoogleHarness, write_settings
from tests.standins.mirror import mirrored
from tests.terraform.standins import MODULES


@dataclass
class GoogleBench:
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    cloud: GoogleCloud
    google: GoogleFake
    state_root: Path
    progress: list[Progress] = field(default_factory=list)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """Begins the id of each run: a test that kills a run's processes finds them by it, and nobody else's."""

    @property
    def hands(self) -> GoogleHarness:
        return GoogleHarness(self.cloud, self.google)

    def execute(self, run: TerraformRun, *, stop: threading.Event | None = None) -> RunResult:
        return execute(
            replace(run, intent_id=f"{self.mark}-{run.intent_id}"),
            provider=self.cloud,
            states=LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=self.progress.append,
            stop=stop or threading.Event(),
            timeout_s=120.0,
        )

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
