"""Consoles in the API: the last lines beside the cluster for a day, the whole text by the node."""

from datetime import UTC, datetime, timedelta

from controlplane.api.presenters.instances import CONSOLE_LINES, console_out, consoles_out
from controlplane.api.schemas.instances import ConsoleOut
from controlplane.converger.tick.consoles import CONSOLE
from controlplane.storage.latest_values import LatestValue, Subject
from events.ids import ClusterUid

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TEXT = "\n".join(f"line {n}" for n in range(100))


def kept(node: str, hours_ago: float, text: str = TEXT, why: str = "") -> LatestValue:
    value = {"key": f"{node}.g2", "text": text, "why": why}
    return LatestValue(Subject(CONSOLE, ClusterUid("c1"), node), value, "cloud", NOW - timedelta(hours=hours_ago))


def test_the_newest_comes_first_with_its_last_lines_and_yesterdays_not_at_all() -> None:
    shown = consoles_out([kept("a", 5), kept("b", 1), kept("c", 25)], NOW)
    assert [c.node for c in shown] == ["b", "a"]
    assert shown[0].text.splitlines() == [f"line {n}" for n in range(100 - CONSOLE_LINES, 100)]
    assert shown[0].key == "b.g2"


def test_asked_for_by_its_node_all_of_it_is_shown() -> None:
    assert console_out(kept("a", 90)) == ConsoleOut(
        node="a", key="a.g2", at=NOW - timedelta(hours=90), text=TEXT, why=""
    )


def test_why_there_is_no_text_is_told() -> None:
    (shown,) = consoles_out([kept("a", 1, "", "the cloud keeps no console, or tells it nobody")], NOW)
    assert (shown.text, shown.why) == ("", "the cloud keeps no console, or tells it nobody")
