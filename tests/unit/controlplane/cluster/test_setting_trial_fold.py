"""What is recorded of a live value on its first broker, and what a revert leaves behind: nothing."""

from dataclasses import replace

import pytest

from controlplane.cluster.folds import settings as settingfold
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingStage
from events import facts
from tests.builders import BEFORE, NOW, a_document, a_view

OLD = {"num.io.threads": "8"}


def _request(change: str = "c1", *, canary: int | None = 1000, value: str = "16") -> facts.SettingsChangeRequested:
    live = {"num.io.threads": value, "message.max.bytes": "5"}
    return facts.SettingsChangeRequested(change, 1, live, live, live, "the spec says so", canary)


def _tried(*, live: dict[str, str] | None = None) -> ClusterView:
    view = a_view(document=a_document(), generation=1, live=OLD if live is None else live)
    view = settingfold.requested(view, _request(), BEFORE)
    return settingfold.tried(view, facts.SettingsTried("c1"), NOW)


def test_after_a_revert_what_was_live_before_is_what_brokers_are_held_to() -> None:
    view = settingfold.taken_back(_tried(), facts.SettingsRevertRequested("c1", "it fell"), NOW)
    assert view.settings.live == {"num.io.threads": "16", "message.max.bytes": "5"}
    view = settingfold.was_taken_back(view, facts.SettingsReverted("c1"), NOW)
    assert view.settings.live == OLD
    assert view.settings.change is None
    assert view.settings.refusal is not None
    assert (view.settings.refusal.broker, view.settings.refusal.reverted) == (1000, True)
    assert set(view.settings.refusal.names) == {"num.io.threads", "message.max.bytes"}
    assert settingfold.forgiven(view).settings.refusal is None


def test_a_revert_for_an_earlier_spec_says_nothing_against_the_one_in_force() -> None:
    view = settingfold.taken_back(_tried(), facts.SettingsRevertRequested("c1", "it fell"), NOW)
    view = settingfold.was_taken_back(replace(view, generation=2), facts.SettingsReverted("c1"), NOW)
    assert view.settings.refusal is None


def test_a_change_that_gives_way_leaves_its_brokers_and_what_was_before_it_to_the_next() -> None:
    view = settingfold.requested(_tried(), _request("c2", canary=1001, value="32"), NOW)
    change = view.settings.change
    assert change is not None
    assert (change.tried, change.stage) == ((1000, 1001), SettingStage.CANARY)
    assert change.before == {"num.io.threads": "8", "message.max.bytes": None}


def test_a_change_without_a_canary_is_for_all_from_the_start() -> None:
    view = settingfold.requested(a_view(generation=1), _request(canary=None), NOW)
    assert view.settings.change is not None
    assert (view.settings.change.stage, view.settings.change.tried) == (SettingStage.ALL, ())


def test_what_reached_all_brokers_is_not_taken_back_from_one() -> None:
    view = settingfold.stood(_tried(), facts.SettingsCanaryStood("c1"), NOW)
    with pytest.raises(ValueError, match="not on its canary alone"):
        settingfold.taken_back(view, facts.SettingsRevertRequested("c1", "too late"), NOW)
    with pytest.raises(ValueError, match="at the stage all, not watch"):
        settingfold.stood(view, facts.SettingsCanaryStood("c1"), NOW)


def _of_pool(value: str, *, config: str = "") -> ClusterView:
    """Pool `brokers` gets a value of its own, and its first broker tries it."""
    view = a_view(document=a_document(pool_config=config), generation=1, live=OLD)
    live = {"num.io.threads": value}
    asked = facts.SettingsChangeRequested("c1", 1, live, live, live, "the spec says so", 1000, pool="brokers")
    return settingfold.tried(settingfold.requested(view, asked, BEFORE), facts.SettingsTried("c1"), NOW)


def test_what_a_pool_holds_is_no_value_of_the_cluster_and_goes_again_with_a_revert() -> None:
    view = _of_pool("16")
    assert (view.settings.live, view.settings.of_pools) == (OLD, {"brokers": {"num.io.threads": "16"}})
    view = settingfold.taken_back(view, facts.SettingsRevertRequested("c1", "it fell"), NOW)
    view = settingfold.was_taken_back(view, facts.SettingsReverted("c1"), NOW)
    assert (view.settings.live, view.settings.of_pools) == (OLD, {"brokers": {}})
    assert view.settings.refusal is not None
    assert view.settings.refusal.pool == "brokers"


def test_a_value_for_all_leaves_a_pool_what_it_says_itself() -> None:
    for config, held in (("num.io.threads: 16", {"brokers": {"num.io.threads": "16"}}), ("", {})):
        view = _of_pool("16", config=config)
        view = settingfold.requested(view, _request("c2", canary=None, value="32"), NOW)
        assert view.settings.of_pools == held
        assert view.settings.live["num.io.threads"] == "32"
