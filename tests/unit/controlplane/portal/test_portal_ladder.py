"""The ladder on the page of the loop: the rows that decide, not a copy of them."""

from dataclasses import replace

import pytest

from controlplane.api.read_models.ladder import ladder_rows
from controlplane.converger.ladder.rung import Begins, Phase
from controlplane.converger.ladder.rungs import LADDER
from tests.unit.controlplane.api.portal_house import House


def test_the_loop_page_shows_every_rung_in_its_order() -> None:
    page = House().client.get("/loop", headers={"Accept": "text/html"}).text
    _, _, table = page.partition('id="ladder"')
    places = [
        table.index(f'<td class="num">{row.number}</td><th scope="row" class="nowrap">{row.name}</th>')
        for row in ladder_rows()
    ]
    assert places == sorted(places)
    assert len(places) == len(LADDER)


@pytest.mark.parametrize(
    ("phase", "begins", "of_spec", "waits_for"),
    [
        (Phase.FIRST, Begins.NOTHING, False, ""),
        (Phase.IN_HAND, Begins.NOTHING, False, ""),
        (Phase.NEXT, Begins.NOTHING, False, "pauses"),
        (Phase.NEXT, Begins.VOLUNTARY, False, "pauses, windows, freezes"),
        (Phase.NEXT, Begins.VOLUNTARY, True, "pauses, windows, freezes, earlier stages"),
        (Phase.NEXT, Begins.BOTH, True, "pauses, windows, freezes, earlier stages; repairs: pauses only"),
    ],
)
def test_a_rung_says_what_it_waits_for(phase: Phase, begins: Begins, of_spec: bool, waits_for: str) -> None:
    rung = replace(LADDER[0], phase=phase, begins=begins, of_spec=of_spec)
    (row,) = ladder_rows((rung,))
    assert (row.number, row.name, row.waits_for, row.why) == (1, "deletion", waits_for, LADDER[0].why)
