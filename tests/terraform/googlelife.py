"""A bench with the fake Google Cloud, the stand-in for its provider, and the real Terraform between them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from providers.google.cloud import GoogleCloud
from providers.tf.progress import RunProgress
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_hands import PLACE, GoogleHarness, write_settings
from tests.standins.mirror import mirrored
from tests.terraform.cloudbench import CloudBench


@dataclass
class GoogleBench(CloudBench):
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    place = PLACE

    cloud: GoogleCloud
    google: GoogleFake
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    @property
    def hands(self) -> GoogleHarness:
        return GoogleHarness(self.cloud, self.google)


@contextmanager
def google_bench(folder: Path) -> Iterator[GoogleBench]:
    """An empty project; `folder` takes the settings, the plugins and the states."""
    plugins = mirrored(folder / "plugins", "google")
    with google_fake() as google:
        settings = write_settings(folder / "google.yaml", google, plugins=plugins)
        yield GoogleBench(GoogleCloud("test", settings), google, folder / "states")
