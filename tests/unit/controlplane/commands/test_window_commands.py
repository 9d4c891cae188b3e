"""Permissions to begin outside a window, freezes of the settings, and what becomes of a permission."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.cluster.commands import CommandRefused, WaiveWindow
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.windows import window_waived
from controlplane.server.settings import ServerSettingsRefused, load_settings
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.spec.conversion import to_data
from tests.builders import NOW, a_document, a_view
from tests.changed_view import changed_view

DOCUMENT = a_document(version="4.2.0", windows=", windows: [{start: '02:00', duration: 2h}]")
PENDING = a_view(generation=2, document=DOCUMENT)


def _ask(view: ClusterView) -> CommandDecision:
    command = WaiveWindow(name="orders", actor="person:anna", command_id="c1", reason="a fix")
    return window_waived(view, command)


def _after(view: ClusterView, fact: object) -> ClusterView:
    new = encode(fact, "e1")
    version = view.version + 1
    after = evolve(view, Recorded(1, "s", version, "e", new.type, new.schema, new.data, "t", None, None, 1, NOW))
    assert not after.history.unreadable
    return after


def test_a_permission_names_the_generation_and_who_gave_it() -> None:
    asked = _ask(PENDING)
    assert asked.fact == facts.WindowWaived(2, "asked by anna: a fix")
    left = "what is left of generation 2 of orders"
    assert asked.sentence == f"{left} begins at once, whatever windows and earlier stages say"


def test_a_second_permission_changes_nothing() -> None:
    assert _ask(replace(PENDING, requests=replace(PENDING.requests, waived=(2, "asked by anna: a fix")))).fact is None


def test_there_is_no_permission_in_stock() -> None:
    with pytest.raises(CommandRefused, match="nothing left to do"):
        _ask(changed_view(PENDING, converged=2))


def test_a_cluster_without_windows_needs_none() -> None:
    with pytest.raises(CommandRefused, match="has no windows"):
        _ask(a_view(generation=2, document=a_document(version="4.2.0")))


def test_a_cluster_without_windows_that_may_wait_for_an_earlier_stage_can_be_let_go() -> None:
    reached = _after(replace(PENDING, document=a_document(), generation=1), facts.RecycleCompleted(1))
    waiting = replace(reached, document=a_document(version="4.2.0"), generation=2)
    assert _ask(waiting).fact == facts.WindowWaived(2, "asked by anna: a fix")
    first = a_document(version="4.2.0", name="orders, labels: {stage: dev}")
    with pytest.raises(CommandRefused, match="no stage goes before it"):
        _ask(replace(waiting, document=first))


@pytest.mark.parametrize(
    "end",
    [
        facts.RecycleCompleted(2),
        facts.RecycleAborted("no"),
        facts.ClusterDeclared("u", "orders", 3, to_data(DOCUMENT), "test"),
    ],
    ids=["reached", "aborted", "declared-anew"],
)
def test_a_permission_is_over_with_what_it_was_given_for(end: object) -> None:
    waived = _after(PENDING, facts.WindowWaived(2, "asked by anna: a fix"))
    assert waived.requests.waived == (2, "asked by anna: a fix")
    assert _after(waived, end).requests.waived is None


def _settings(tmp_path: Path, toml: str) -> object:
    (tmp_path / "kedge.toml").write_text(toml)
    return load_settings(home=tmp_path)


def test_a_freeze_of_the_settings_is_read_with_its_times_and_names(tmp_path: Path) -> None:
    settings = _settings(
        tmp_path,
        """
        [[freezes]]
        from = 2026-11-26T18:00:00+01:00
        until = 2026-12-01T06:00:00+01:00
        reason = "black friday"
        labels = {stage = "production"}
        [[freezes]]
        until = 2026-12-01T06:00:00Z
        reason = "audit"
        owners = ["billing"]
        """,
    )
    first, second = (binding.freeze for binding in settings.freezes)  # type: ignore[attr-defined]
    assert (first.begins, first.ends) == (datetime(2026, 11, 26, 17, tzinfo=UTC), datetime(2026, 12, 1, 5, tzinfo=UTC))
    assert first.names("orders", "", {"stage": "production"})
    assert second.names("invoices", "billing", {})
    assert second.begins < first.begins


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("until = 2026-12-01T06:00:00\nreason = 'x'", "timezone"),
        ("from = 2026-12-02T06:00:00Z\nuntil = 2026-12-01T06:00:00Z\nreason = 'x'", "ends before it begins"),
        ("until = 2026-12-01T06:00:00Z\nreason = ''", "at least 1 character"),
    ],
)
def test_a_freeze_that_makes_no_sense_is_refused_with_its_place(tmp_path: Path, toml: str, problem: str) -> None:
    with pytest.raises(ServerSettingsRefused, match="FREEZES") as refused:
        _settings(tmp_path, f"[[freezes]]\n{toml}\n")
    assert problem in str(refused.value)
