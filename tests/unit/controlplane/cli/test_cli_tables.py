"""The table of instances: what a person must notice stands in its last column."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.cli.tables import instance_table
from controlplane.cli.terminal import console
from tests.unit.controlplane.cli.cli_world import instance

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def note(**changes: Any) -> str:
    stream = io.StringIO()
    on = console(stream, {"COLUMNS": "400"}, colour=False, is_terminal=False)
    on.print(instance_table([instance("brokers-a-0.g1", **changes)], now=NOW))
    return stream.getvalue().splitlines()[1].strip().rsplit("  ", 1)[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "-"),
        ({"credential_since": NOW - timedelta(days=6)}, "-"),
        (
            {"credential_since": NOW - timedelta(days=15), "credential_overdue": True},
            "credential is from 15 d ago",
        ),
        ({"uncertified": True}, "no certificate"),
        ({"outdated_credential_at": NOW - timedelta(minutes=5)}, "outdated credential shown 5 min ago"),
        (
            {"lost": True, "outdated_credential_at": NOW - timedelta(minutes=5)},
            "VM is gone; outdated credential shown 5 min ago",
        ),
    ],
    ids=["nothing", "in-time", "overdue", "uncertified", "outdated-shown", "both"],
)
def test_an_instance_is_noted_for_what_a_person_must_look_at(changes: dict[str, Any], said: str) -> None:
    assert note(**changes) == said
