"""Credentials in the middle of a roll, on each cloud's fake: they expire, and every call is refused in the cloud's own
words for ten minutes; and they come to be another account's, in which there is nothing. Nothing is destroyed, nothing
is called gone, what is wrong is said, and once the right ones are back the roll goes on by itself.

What refuses is the fake, what hears it the cloud's own inventory code, and before each run its own proof of whose the
credentials are, which the environment of a real Terraform waits for.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.base import InstanceState, TerraformRun
from tests.builders import a_document
from tests.fakes.clouds.aws import OTHER_ACCOUNT
from tests.fakes.clouds.azure import OTHER_TENANT
from tests.fakes.clouds.azure_things import Things
from tests.fakes.clouds.digitalocean import OTHER_TEAM
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.google import OTHER_NUMBER
from tests.fakes.clouds.hetzner import OTHER_TOKEN, TOKEN
from tests.fakes.clouds.upcloud import OTHER_USERNAME
from tests.sim.cloudlisting import FAKES
from tests.sim.cloudmachines import CloudMachines
from tests.sim.cloudworld import CloudWorld, no_foreign_vms, nothing_lost, spec_in
from tests.sim.machines import Machines
from tests.sim.test_cloud_mishaps import draining, surging
from tests.sim.test_cloud_seeds import CLOUDS, opened

TEN_MINUTES = 600

EXPIRED = {
    "aws": ("ExpiredToken", 403),
    "azure": ("ExpiredAuthenticationToken", 401),
    "digitalocean": ("unauthorized", 401),
    "google": ("authError", 401),
    "hetzner": ("unauthorized", 401),
    "upcloud": ("AUTHENTICATION_FAILED", 401),
}
"""What each cloud calls credentials that are over."""

ANOTHERS = {
    "aws": f"of account {OTHER_ACCOUNT}, the place is account",
    "azure": f"of tenant {OTHER_TENANT}",
    "digitalocean": f"the token is of {OTHER_TEAM}, the place is",
    "google": f"number {OTHER_NUMBER}",
    "hetzner": "it is of another project than the place",
    "upcloud": f"of '{OTHER_USERNAME}', the place is account",
}
"""What is said of credentials of another account."""


CHECKED_BY_TERRAFORM = frozenset({"aws", "azure", "google"})
"""Where the module names the account and the vendor's provider asks whose the credentials are (`allowed_account_ids`),
or each call has it in its path; at the others our own proof comes before a run gets any."""


class ProvingMachines(CloudMachines):
    """No run begins before its environment is there, and its provider is let in."""

    def apply(self, run: TerraformRun, *, changes: int | None = None) -> None:
        place = run.resources.place
        provider: Any = self.clouds[place.cloud].provider
        provider.terraform_environment(place)
        if place.cloud in CHECKED_BY_TERRAFORM:
            provider._access.prove(place, afresh=True)
        super().apply(run, changes=changes)


class ProvingWorld(CloudWorld):
    def make_machines(self) -> Machines:
        made = ProvingMachines(self.kafka, self.latest, self.clock, self._hands)
        made.random = self.random
        return made


@contextmanager
def others_instead(of: Any, **others: object) -> Iterator[None]:
    """What of a fake is somebody else's for a while."""
    own = {name: getattr(of, name) for name in others}
    for name, value in others.items():
        setattr(of, name, value)
    yield
    for name, value in own.items():
        setattr(of, name, value)


@contextmanager
def of_another_account(cloud: str, fake: Any) -> Iterator[None]:
    """Whoever asks is told of an account that is not the place's, and has none of our VMs."""
    with ExitStack() as stack:
        match cloud:
            case "aws":
                stack.enter_context(others_instead(fake, account=OTHER_ACCOUNT))
            case "azure":
                stack.enter_context(others_instead(fake, tenant=OTHER_TENANT, things=Things()))
            case "google":
                stack.enter_context(others_instead(fake.world, number=OTHER_NUMBER, things={}))
            case "digitalocean":
                stack.enter_context(others_instead(fake, team=OTHER_TEAM, droplets={}, volumes={}))
            case "hetzner":
                stack.enter_context(others_instead(fake, projects={**fake.projects, TOKEN: fake.projects[OTHER_TOKEN]}))
            case _:
                stack.enter_context(others_instead(fake, username=OTHER_USERNAME))
                stack.enter_context(others_instead(fake.things, servers={}, storages={}))
        yield


@contextmanager
def expired(cloud: str, fake: Any) -> Iterator[None]:
    code, status = EXPIRED[cloud]
    fault = Fault("*", code, status, times=10**9)
    fake.faults.append(fault)
    yield
    fake.faults.remove(fault)


@contextmanager
def rolling(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProvingWorld]:
    """A cluster with data, declared to be of the next version."""
    with opened(cloud, folder, monkeypatch) as hands:
        world = ProvingWorld(hands, seed=11)
        world.declare(a_document(**spec_in(hands)))
        world.converge(ticks=300)
        world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
        world.declare(a_document(**spec_in(hands), version="4.2.0"))
        yield world


def ids(world: ProvingWorld, cloud: str) -> set[str]:
    """Of all VMs there, by the cloud's own word now."""
    return {i.id for i in world.machines.clouds[cloud].changed().instances if i.state is not InstanceState.GONE}


def outlasts(
    world: ProvingWorld, cloud: str, trouble: AbstractContextManager[None], said: str, *, asked_every: int = 1
) -> None:
    """Ten minutes of it. It says why it waits, and everything is there afterwards. What a listing that was not refused
    has may be told again for `asked_every` ticks."""
    before, known = ids(world, cloud), {i.key for i in world.view().alive()}
    with trouble:
        for second in range(TEN_MINUTES):
            if second % asked_every == 0:
                world.machines.clouds[cloud].is_stale = True
            world.tick()
        blocked = world.view().conditions["Blocked"]
        assert blocked.status
        assert said in blocked.message
    assert before <= ids(world, cloud), "nothing is destroyed by who is not let in"
    assert known <= {i.key for i in world.view().alive() if not i.lost}, "nobody is called gone"
    world.disturbed()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cloud", ["aws", *(pytest.param(c, marks=pytest.mark.soak) for c in CLOUDS if c != "aws")])
def test_credentials_that_expire_and_then_are_of_another_account_in_a_roll_destroy_nothing(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rolling(cloud, tmp_path, monkeypatch) as world:
        fake: Any = getattr(world.machines.hands[cloud], FAKES[cloud])
        world.run(until=surging, ticks=120)
        outlasts(world, cloud, expired(cloud, fake), EXPIRED[cloud][0])
        world.run(until=draining, ticks=300)
        outlasts(world, cloud, of_another_account(cloud, fake), ANOTHERS[cloud], asked_every=15)
        world.converge(ticks=2000)
        nothing_lost(world)
        no_foreign_vms(world)
