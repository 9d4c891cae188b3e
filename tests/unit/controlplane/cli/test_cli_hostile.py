"""No verb lets what others wrote reach a terminal as it is: the real server answers, with hostile words everywhere."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from controlplane.cli.output import as_json
from controlplane.cli.terminal import console
from tests.unit.controlplane.api.hostile_house import HOSTILE, MARK, hostile_house
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.unit.controlplane.cli.cli_world import World

OWN = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
"""What our own console writes: colours, and redrawing in place."""
READS = [
    "get -o wide",
    "get orders -o yaml",
    "describe orders",
    "describe orders -o json",
    "events orders",
    "events orders -o json",
    "groups orders",
    "group orders billing",
    "anomalies orders",
    "dependents orders 1000",
    "sources",
    "images show 4.1.1-r1",
    "freezes",
    "loop",
    "audit",
    "audit -o json",
    "proposals --all",
    "proposal show waiting1",
    "find h0stile",
    "notifiers list",
    "logs orders --since 1d",
    "logs orders --since 1d -o json",
]


@pytest.fixture(scope="module")
def house() -> House:
    return hostile_house()


@pytest.mark.parametrize("command", READS)
def test_a_verb_tells_hostile_words_and_steers_no_terminal(house: House, tmp_path: Path, command: str) -> None:
    world = World(tmp_path)
    world.environ["COLUMNS"] = "4000"
    (tmp_path / ".kedge" / "token").write_text(TOKEN)
    ran = world.run(*command.split(), stdout=True, stderr=True, transport=house.client._transport)
    assert ran.exit_code == 0, ran.output
    assert MARK in ran.output
    left = OWN.sub("", ran.output)
    assert not [c for c in left if not c.isprintable() and c not in "\n\t"], repr(left)


@pytest.mark.parametrize("thing", [str, Text, Tree, Panel, lambda word: Text(word, style="red")])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_whatever_is_printed_a_console_writes_no_control_of_others(thing: Any, is_terminal: bool) -> None:
    stream = io.StringIO()
    table = Table()
    table.add_column(HOSTILE)
    table.add_row(thing(HOSTILE))
    on = console(stream, {"COLUMNS": "300"}, colour=is_terminal, is_terminal=is_terminal)
    on.print(thing(HOSTILE), table)
    left = OWN.sub("", stream.getvalue())
    assert left.count(MARK) >= 3
    assert not [c for c in left if not c.isprintable() and c != "\n"], repr(left)


def test_json_for_machines_has_every_character_and_none_a_terminal_obeys() -> None:
    told = {HOSTILE: [HOSTILE, "\U000e0001 grüße\u2028"]}
    text = as_json(told, indent=2)
    assert json.loads(text) == told
    assert "grüße" in text
    assert not [c for c in text if not c.isprintable() and c != "\n"]
