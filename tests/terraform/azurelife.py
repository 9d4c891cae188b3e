"""A bench with the fake Azure, the stand-in for its provider, and the real Terraform between them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from providers.azure.cloud import AzureCloud
from providers.base import Resources, TerraformRun
from providers.tf.progress import RunProgress
from providers.tf.run_folder import processes_of
from tests.fakes.clouds.azure import AzureCloudFake, azure_cloud
from tests.fakes.clouds.azure_hands import PLACE, SECRET, AzureHarness, write_settings
from tests.fakes.resources import own, resources
from tests.standins.mirror import mirrored
from tests.terraform.cloudbench import CloudBench


@dataclass
class AzureBench(CloudBench):
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    place = PLACE

    cloud: AzureCloud
    azure: AzureCloudFake
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    def set_of(self, *parts: Any) -> Resources:
        """A rendered set in this cloud's place and zones."""
        return AzureHarness(self.cloud, self.azure).here(resources(*parts))

    def on(self, action: str, what: Callable[[], object], *, before: bool = False) -> None:
        """Does `what` when the cloud is asked for `action` (`PUT /virtualMachines/`), once it has done it or before."""
        method, _, part = action.partition(" ")

        def answering(asked: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
            meant = asked == method and part in path
            if meant and before:
                what()
            told = self.azure.answer(asked, path, headers, body)
            if meant and not before:
                what()
            return told

        self.azure.answering = answering

    def kill(self, run: TerraformRun) -> None:
        """Kills Terraform and its plugins (`has_plugins_to_kill`), by their ids."""
        for pid in processes_of(own(run, self.state_root).intent_id):
            os.kill(pid, signal.SIGKILL)
        self.has_plugins_to_kill(False)


@contextmanager
def azure_bench(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureBench]:
    """A bench with its settings and states below `folder`."""
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    with azure_cloud() as azure:
        plugins = mirrored(folder / "plugins", "azure")
        cloud = AzureCloud("test", write_settings(folder / "azure.yaml", azure, plugins=plugins))
        yield AzureBench(cloud, azure, folder / "states")
