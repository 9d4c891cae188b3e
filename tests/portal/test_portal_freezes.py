"""Freezes in a real browser."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.portal.hostile_portal import HostilePortal
from tests.portal.watched import Watched
from tests.unit.controlplane.api.hostile_house import hostile_house


def test_the_form_that_thaws_is_not_cut_off_by_its_table(visit: Callable[..., Watched]) -> None:
    """It hung below its row, in a box that shows no more than the rows: of the last one nothing could be read."""
    with HostilePortal(hostile_house("weekend")) as portal:
        window = visit(portal, signed_in=False)
        portal.sign_in(window.page.context)
        page = window.page
        window.go("/freezes")
        page.get_by_label("Thaw freeze-1").click()
        table = page.get_by_role("region", name="Freezes")
        form = table.locator("form").bounding_box()
        shown = table.bounding_box()
        assert form is not None
        assert shown is not None
        assert (form["y"] + form["height"], form["x"]) <= (shown["y"] + shown["height"], shown["x"] + shown["width"])
        window.assert_fits()
        page.get_by_label("Reason (kept in the history)").fill("over")
        page.get_by_role("button", name="Thaw now").click()
        expect(page.get_by_text("Nothing is frozen.")).to_be_visible()
        window.assert_content()
