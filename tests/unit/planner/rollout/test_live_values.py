"""Every setting that Kafka takes live, with any value of its type, gets to every broker and leaves nothing behind.

The brokers are the fake's: they judge each step as Kafka does, and print values in Kafka's form.
"""

import re

import pytest
from hypothesis import given, settings, strategies as st

from events.spec.setting_table import TABLES, Setting, settings_of
from events.spec.setting_values import reads_alike, unreadable_because
from planner.observed import SettingsSeen
from planner.rollout.canary_step import back_step, own_left, rack_step, trial_step
from planner.rollout.live_step import LiveStep, deviations, next_live_step
from planner.rollout.setting_change import setting_changes
from planner.rollout.setting_class import GUARDED, HALF_TO_DOUBLE, setting_class
from tests.fakes.kafka_parts import FakeBroker
from tests.fakes.kafka_settings import FakeSettings

IDS = (1000, 1001, 1002)
MOST_STEPS = 80
_FOUND = {
    (setting.name, setting.type, setting.valid): (setting, version)
    for version in TABLES.values()
    for setting in settings_of(version).values()
    if setting_class(setting.name, version=version).live_name == setting.name
}
LIVE = [pytest.param(s, version, id=f"{s.name}-{version}") for s, version in _FOUND.values()]
"""Each once of all tables, and once more where another version has other bounds."""


def values_of(setting: Setting) -> st.SearchStrategy[str]:
    """Texts that Kafka reads as a value of the setting's type, in any form a person may write."""
    return _texts(setting).filter(lambda text: unreadable_because(setting, text) is None)


def _texts(setting: Setting) -> st.SearchStrategy[str]:
    if setting.type == "boolean":
        return st.sampled_from(("true", "false", "TRUE", "False"))
    if setting.type == "double":
        fixed = st.sampled_from(("0.5", "0.50", "1", "5e-1", "0.0001", "1.7976931348623157E308", "10000000"))
        return fixed | st.floats(0, 1).map(lambda number: f"{number:.6f}")
    if setting.type in ("int", "long", "short"):
        return _whole_numbers(setting)
    if (choices := re.search(r"\[([A-Za-z][^\[\]]*)\]", setting.valid)) is not None:
        known = choices[1].split(", ")
        several = st.lists(st.sampled_from(known), min_size=1, unique=True).map(", ".join)
        return several if setting.type == "list" else st.sampled_from(known)
    return st.sampled_from(("", "127.0.0.1:5", "10.0.0.1:7,10.0.0.2:9"))


def _whole_numbers(setting: Setting) -> st.SearchStrategy[str]:
    bounds = re.match(r"\[(-?[0-9]+),\.\.\.(?:,([0-9]+))?\]", setting.valid)
    least, most = (int(bounds[1]), bounds[2]) if bounds else (-1, None)
    if setting.name in HALF_TO_DOUBLE:
        least, most = 1, "5000"
    numbers = st.integers(least, int(most) if most else max(least, 2**31 - 1))
    return numbers.map(str) | numbers.filter(lambda n: n >= 0).map(lambda n: f"0{n}")


class Brokers:
    """Three of one version, each started with a value of its own, or with none."""

    def __init__(self, setting: Setting, version: str, started_with: list[str | None]) -> None:
        self.setting = setting
        self.brokers = [FakeBroker(broker, rack, version, 1) for broker, rack in zip(IDS, "abc", strict=True)]
        files = {b: {setting.name: v} for b, v in zip(IDS, started_with, strict=True) if v is not None}
        self.settings = FakeSettings({}, lambda: None, files=files)

    def seen(self) -> SettingsSeen:
        return self.settings.running(self.brokers, {self.setting.name})

    def take(self, step: LiveStep) -> None:
        refused = {b: words for b, words in self.settings.refusals(self.brokers, step).items() if words}
        assert not refused, f"{step}: {refused}"
        self.settings.change(self.brokers, step)


def _goes_everywhere(brokers: Brokers, wanted: str) -> None:
    """As the converger does it: on one broker first, then rack by rack, then by the cluster's default."""
    live = {brokers.setting.name: wanted}
    for _ in range(MOST_STEPS):
        seen = brokers.seen()
        step = (
            trial_step(live, seen, IDS[0])
            or rack_step(live, seen, [{b} for b in IDS])
            or next_live_step((*deviations(live, seen), *own_left(live, seen, IDS)), seen)
        )
        if not step:
            break
        brokers.take(step)
    running = [seen[brokers.setting.name].value for seen in brokers.seen().brokers.values()]
    assert all(v is not None and reads_alike(brokers.setting, v, wanted) for v in running), (running, wanted)
    assert not any(brokers.settings.own.values())


@pytest.mark.parametrize(("setting", "version"), LIVE)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_live_value_of_its_type_gets_to_every_broker_in_steps_that_kafka_takes(
    setting: Setting, version: str, data: st.DataObject
) -> None:
    values = values_of(setting)
    brokers = Brokers(setting, version, data.draw(st.lists(st.none() | values, min_size=3, max_size=3)))
    _goes_everywhere(brokers, data.draw(values))
    _goes_everywhere(brokers, data.draw(values))


@pytest.mark.parametrize(("setting", "version"), LIVE)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_live_value_that_one_broker_tried_is_taken_back(setting: Setting, version: str, data: st.DataObject) -> None:
    if setting.name in GUARDED:
        return  # never on one broker alone
    values = values_of(setting)
    brokers, wanted = Brokers(setting, version, [data.draw(st.none() | values)] * 3), data.draw(values)
    before = brokers.seen()
    for _ in range(MOST_STEPS):
        if not (step := trial_step({setting.name: wanted}, brokers.seen(), IDS[0])):
            break
        brokers.take(step)
    for _ in range(MOST_STEPS):
        if not (step := back_step({setting.name}, brokers.seen(), IDS[:1])):
            break
        brokers.take(step)
    assert brokers.seen() == before


@pytest.mark.parametrize(("setting", "version"), LIVE)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_what_becomes_of_a_change_is_told_for_any_two_values(
    setting: Setting, version: str, data: st.DataObject
) -> None:
    old, new = data.draw(st.none() | values_of(setting)), data.draw(st.none() | values_of(setting))
    before, after = ({} if v is None else {setting.name: v} for v in (old, new))
    assert all(change.effect for change in setting_changes(before, after, version=version))
