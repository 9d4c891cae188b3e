"""Two installations at work in one account at the same time, with a cluster of one name each, and killed at random:
neither touches, adopts or tags anew what is the other's, and in the end each has exactly its own.

And two clusters of one name of one installation, in two accounts: the first was deleted from Kedge alone, say.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from providers import tags
from tests.builders import a_document
from tests.fakes.clouds.hetzner_hands import HetznerHarness, hetzner_accounts
from tests.sim.cloudlisting import Hands
from tests.sim.cloudworld import CloudWorld, spec_in
from tests.sim.evidence import Violation
from tests.sim.sidebyside import SideBySide, TheOther, troubled_lives
from tests.sim.sweep import sweep
from tests.sim.test_cloud_seeds import CLOUDS, opened

QUICK = ("digitalocean", "hetzner", "upcloud")
"""Their fakes take seconds; the others a minute and more."""

SEEDS_A_CLOUD = 10

pytestmark = pytest.mark.timeout(300)


@contextmanager
def two_installations(
    cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[dict[str, Hands], dict[str, Hands]]]:
    """Hands of both in one empty account."""
    with opened(cloud, folder, monkeypatch) as hands:
        yield hands, {cloud: hands[cloud].other_installation()}


@pytest.mark.parametrize("cloud", QUICK)
def test_two_installations_with_clusters_of_one_name_share_an_account_and_touch_nothing_of_each_other(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_installations(cloud, tmp_path, monkeypatch) as (first, second):
        pair = troubled_lives(first, second, 24)
    was_hard(pair)


def test_clusters_of_one_name_in_two_accounts_of_one_installation_touch_nothing_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hetzner_accounts(tmp_path, monkeypatch) as (production, staging):
        pair = troubled_lives({"hetzner": production}, {"hetzner": staging}, 31, foreign=False)
    was_hard(pair)


def was_hard(pair: SideBySide) -> None:
    """Much was changed while the other had something to lose, and Terraform died now and then."""
    assert pair.queries >= 20
    assert pair.first.machines.kills + pair.second.machines.kills >= 3
    assert pair.first.machines.imports + pair.second.machines.imports >= 1
    assert not pair.first.machines.twins | pair.second.machines.twins


def test_whoever_deletes_or_tags_anew_what_is_the_others_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_installations("hetzner", tmp_path, monkeypatch) as (first, second):
        pair = SideBySide(CloudWorld(first, seed=1), TheOther(second, seed=2))
        for world in pair.both:
            world.declare(a_document(**spec_in(world.machines.hands)))
        pair.converge(ticks=300)
        victim, *_ = pair.second.view().brokers()
        hands = first["hetzner"]
        assert isinstance(hands, HetznerHarness)

        def tag_anew() -> None:
            labels = hands.project.servers[int(victim.cloud_id)]["labels"]
            hands.project.servers[int(victim.cloud_id)]["labels"] = {**labels, tags.INTENT: "another"}

        for act in (tag_anew, lambda: hands.power_cut(victim.cloud_id)):
            pair.first.machines.clouds["hetzner"].is_stale = True  # whatever it is, it was the first one's act
            with pytest.raises(Violation, match=f"test, hetzner: changed what is the other's: vm {victim.cloud_id}: "):
                pair.watched(pair.first, pair.second, act)
            pair.second.machines.clouds["hetzner"].is_stale = True


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_two_installations_share_an_account_through_many_more_kills(cloud: str, tmp_path: Path) -> None:
    kills = 0

    def run(seed: int) -> None:
        nonlocal kills
        folder = tmp_path / str(seed)
        folder.mkdir()
        with (
            pytest.MonkeyPatch.context() as monkeypatch,
            two_installations(cloud, folder, monkeypatch) as (first, second),
        ):
            pair = troubled_lives(first, second, seed)
        kills += pair.first.machines.kills + pair.second.machines.kills
        assert not pair.first.machines.twins | pair.second.machines.twins

    cases = sweep(f"troubled_lives on {cloud}, seed", range(700, 700 + 10 * SEEDS_A_CLOUD, 10), run)
    assert kills >= cases
