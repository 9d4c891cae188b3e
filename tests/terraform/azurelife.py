"""A bench with the fake Azure, the stand-in for its provider, and the real Terraform between them."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from providers.azure.cloud import AzureCloud
from providers.base import CloudInstance, Listing, Resources, TerraformRun
from providers.tf.execute import RunResult, execute
from providers.tf.runfolder import processes_of
from providers.tf.statefile import LocalStates
from tests.fakes.clouds.azure import AzureCloudFake, azure_cloud
from tests.fakes.clouds.azure_hands import PLACE, SECRET, AzureHarness, write_settings
from tests.fakes.resources import own, resources
from tests.standins.mirror import MODULES, mirrored


@dataclass
class AzureBench:
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the stand-in on them."""

    cloud: AzureCloud
    azure: AzureCloudFake
    state_root: Path

    def execute(self, run: TerraformRun, *, stop: threading.Event | None = None) -> RunResult:
        return execute(
            own(run, self.state_root),
            provider=self.cloud,
            states=LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=lambda _: None,
            stop=stop or threading.Event(),
            timeout_s=120.0,
        )

    def set_of(self, *parts: Any) -> Resources:
        """A rendered set in this cloud's place and zones."""
        return AzureHarness(self.cloud, self.azure).here(resources(*parts))

    def listing(self) -> Listing:
        return self.cloud.list_place(PLACE)

    def vm(self, key: str) -> CloudInstance:
        return next(i for i in self.listing().instances if i.key == key)

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
        """Kills Terraform and its plugins, by their ids."""
        for pid in processes_of(own(run, self.state_root).intent_id):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def azure_bench(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureBench]:
    """A bench with its settings and states below `folder`."""
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    with azure_cloud() as azure:
        plugins = mirrored(folder / "plugins", "azure")
        cloud = AzureCloud("test", write_settings(folder / "azure.yaml", azure, plugins=plugins))
        yield AzureBench(cloud, azure, folder / "states")
