"""The clouds of contract tests, each with hands that do what Terraform and fate do."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from providers.base import CloudProvider, Place, Resources, RunKind
from providers.errors import CloudUnavailable, RateLimited
from providers.local.cloud import LocalCloud
from providers.local.reap import reap
from providers.local.verbs import perform
from tests.fakes.cloud import FakeCloud, World
from tests.fakes.clouds.aws_hands import aws_harness
from tests.fakes.clouds.azure_hands import azure_harness
from tests.fakes.clouds.digitalocean_hands import digitalocean_harness
from tests.fakes.clouds.google_hands import google_harness
from tests.fakes.clouds.hetzner_hands import hetzner_harness
from tests.fakes.clouds.upcloud_hands import upcloud_harness
from tests.fakes.resources import (
    PLACE,
    UID,
    run,
    surge,
    targets,
)

SLEEPER = ("/bin/sleep", "600")
SECOND_PLACE = Place("local", "local-2")


class Harness(Protocol):
    """A cloud, and hands that do what Terraform and fate do."""

    @property
    def cloud(self) -> CloudProvider: ...
    @property
    def place(self) -> Place: ...
    @property
    def second(self) -> Place: ...
    def zone(self, letter: str) -> str: ...
    def id_of(self, key: str) -> str: ...
    def create(self, wanted: Resources, *only: str) -> None: ...
    def delete(self, wanted: Resources, *only: str) -> None: ...
    def power_cut(self, vm_id: str) -> None: ...
    def fail_once(self, error: type[Exception]) -> None: ...
    def lag(self, listings: int) -> None: ...
    def ignore_one_destroy(self) -> None: ...
    def other_installation(self) -> "Harness": ...


@dataclass
class LocalHarness:
    cloud: LocalCloud
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return letter

    def id_of(self, key: str) -> str:
        return f"{UID}/{key}"

    def create(self, wanted: Resources, *only: str) -> None:
        for verb, request in self._requests(wanted, "create", only):
            perform(verb, request)

    def delete(self, wanted: Resources, *only: str) -> None:
        for verb, request in reversed(self._requests(wanted, "destroy", only)):
            perform(verb, request)

    def power_cut(self, vm_id: str) -> None:
        self.cloud.power_cut(PLACE, vm_id)

    def fail_once(self, error: type[Exception]) -> None:
        self.cloud.faults.set_counter("rate_limits" if error is RateLimited else "api_errors", 1)

    def lag(self, listings: int) -> None:
        self.cloud.faults.set_counter("list_lag", listings)

    def ignore_one_destroy(self) -> None:
        self.cloud.faults.set_counter("ignored_destroys", 1)

    def other_installation(self) -> "LocalHarness":
        return LocalHarness(LocalCloud(self.cloud.root, "other", sys.executable, command=SLEEPER))

    def _requests(self, wanted: Resources, action: str, only: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
        variables: dict[str, Any] = self.cloud.variables(wanted)
        owner = {k: variables[k] for k in ("installation_id", "cluster_uid", "region")} | variables["cloud"]
        verbs = {
            "addresses": f"{action}-address",
            "volumes": f"{action}-volume",
            "instances": f"{action}-instance",
            "attachments": "attach" if action == "create" else "detach",
            "bindings": "bind" if action == "create" else "unbind",
        }
        words = {"addresses": "address"}
        return [
            (verb, {"node": key, **owner, "key": key, **value})
            for kind, verb in verbs.items()
            for key, value in variables[kind].items()
            if not only or f"{words.get(kind, kind.removesuffix('s'))}/{key}" in only
        ]


@dataclass
class FakeHarness:
    cloud: FakeCloud
    runs: int = field(default=0)
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return letter

    def id_of(self, key: str) -> str:
        return f"{UID}/{key}"

    def create(self, wanted: Resources, *only: str) -> None:
        # A fresh state each time: the verbs of the local cloud know nothing of a state either.
        self.cloud.states.clear()
        parts = targets(wanted) - (targets(wanted) if not only else frozenset(only))
        self.cloud.states[wanted.cluster_uid, wanted.place] = set(parts if only else ())
        self.cloud.apply(surge(wanted, only=frozenset(only) if only else None))

    def delete(self, wanted: Resources, *only: str) -> None:
        self.cloud.states[wanted.cluster_uid, wanted.place] = set(targets(wanted))
        self.cloud.apply(run(RunKind.RETIRE, wanted, deletes=frozenset(only) or targets(wanted)))

    def power_cut(self, vm_id: str) -> None:
        self.cloud.power_cut(PLACE, vm_id)

    def fail_once(self, error: type[Exception]) -> None:
        self.cloud.failures.append(RateLimited("slow down") if error is RateLimited else CloudUnavailable("no answer"))

    def lag(self, listings: int) -> None:
        self.cloud.list_lag = listings

    def ignore_one_destroy(self) -> None:
        self.cloud.ignored_destroys = 1

    def other_installation(self) -> "FakeHarness":
        return FakeHarness(FakeCloud("other", world=self.cloud.world))


@contextmanager
def local_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    cloud = LocalCloud(tmp_path / "cloud", "test", sys.executable, command=SLEEPER)
    try:
        yield LocalHarness(cloud)
    finally:
        reap(cloud.root)


@contextmanager
def fake_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    yield FakeHarness(FakeCloud("test", world=World()))


HARNESSES: Mapping[str, Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Harness]]] = {
    "local": local_harness,
    "fake": fake_harness,
    "aws": aws_harness,
    "azure": azure_harness,
    "digitalocean": digitalocean_harness,
    "google": google_harness,
    "hetzner": hetzner_harness,
    "upcloud": upcloud_harness,
}
