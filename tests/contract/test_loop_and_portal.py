"""Loop and portal as processes of their own, on a real PostgreSQL, each by its own role and as its own Unix user."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from controlplane.storage.home import Home
from tests.contract.apart import DEADLINE_S, LOOP_USER, Houses, Part, houses_on
from tests.contract.server_process import eventually
from tests.databases import APP
from tests.unit.events.spec_texts import ORDERS

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root"),
]

PAUSED = ORDERS + "    pause: true\n"
"""From the first moment on: nothing may ever be built here, and the loop says at each tick that it waits."""


@pytest.fixture
def houses(fresh_database: Callable[[str], str]) -> Iterator[Houses]:
    """Ended, whatever came of it."""
    with houses_on(fresh_database("postgresql")) as built:
        yield built


def sentence(part: Part) -> str:
    found = part.client.get("/v1/clusters/orders")
    return str(found.json().get("sentence", "")) if found.status_code == 200 else ""


def examined(part: Part, cloud: str) -> bool:
    """Whether the findings of the cloud are there: the loop has looked."""
    (item,) = part.client.get("/v1/doctor", params={"cloud": cloud}).json()["items"]
    return bool(item["findings"])


def test_what_is_declared_at_a_portal_is_done_by_the_loop_and_each_goes_on_without_the_other(houses: Houses) -> None:
    loop = houses.loop().wait_until_it_listens()
    eventually(lambda: loop.client.get("/v1/version").json()["leader"], loop)
    portal = houses.portal().wait_until_it_listens()
    told = portal.client.get("/v1/version").json()
    assert (told["part"], told["leader"]) == ("portal", False)
    eventually(lambda: portal.client.get("/v1/loop").json()["beats"], portal)

    # Declared here, ticked there: the sentence is the loop's own word.
    applied = portal.client.post("/v1/apply", json={"text": PAUSED})
    assert applied.json().get("ok"), applied.text
    eventually(lambda: "paused" in sentence(portal), portal)
    assert not portal.client.get("/v1/loop").json()["late"]
    (item,) = [f for f in portal.client.get("/v1/doctor").json()["database"] if f["what"] == "the loop"]
    assert item["well"], item
    eventually(lambda: examined(portal, "local"), portal)

    # What is the loop's own is refused at the portal, with the way there, and done at the loop by its operator.
    backup = {"path": str(loop.home / "backup.jsonl")}
    refused = portal.client.post("/v1/backup", json=backup)
    assert (refused.status_code, refused.json()["code"]) == (409, "ask-the-loop")
    assert "kedge backup" in refused.json()["next"]
    assert loop.client.post("/v1/backup", json=backup).status_code == 200
    asked = {"fault": "kill-vm", "reason": "x", "confirm": "orders", "for_s": 60, "vms": ["brokers-a-0.g1"]}
    fault = portal.client.post("/v1/clusters/orders/chaos", json=asked)
    assert (fault.status_code, fault.json()["code"]) == (409, "ask-the-loop"), fault.text

    # Each serves its own callers, and the token of one home opens nothing at the other.
    assert loop.client.get("/login").json()["code"] == "loop-only"
    assert portal.client.get("/agent/v1/ca").status_code == 403
    assert loop.client.get("/v1/clusters", headers=portal.bearer).status_code == 401
    assert portal.client.get("/v1/clusters", headers=loop.bearer).status_code == 401

    # The portal dies: the loop goes on, and the next portal knows all of it.
    head = loop.client.get("/v1/loop").json()["beats_ever"]
    portal.end()
    eventually(lambda: loop.client.get("/v1/loop").json()["beats_ever"] > head, loop)
    portal = houses.portal().wait_until_it_listens()
    eventually(lambda: "paused" in sentence(portal), portal)

    # The loop dies: the portal says so, shows what there is, and takes what people ask for.
    loop.end()
    eventually(lambda: "has not been seen since" in sentence(portal), portal)
    assert portal.client.get("/v1/loop").json()["late"]
    page = portal.client.get("/", headers={"Accept": "text/html"})
    assert "the loop has not been seen since" in page.text
    assert portal.client.post("/v1/clusters/orders/pause", json={"reason": "meanwhile"}).json()["changed"]
    loop = houses.loop().wait_until_it_listens()
    eventually(lambda: "has not been seen" not in sentence(portal), portal)
    events = [e["type"] for e in portal.client.get("/v1/clusters/orders/events").json()["events"]]
    assert events.count("cluster.paused") >= 1

    assert portal.end(signal.SIGTERM) == 0, portal.log
    assert loop.end(signal.SIGTERM) == 0, loop.log
    assert "Traceback" not in portal.log + loop.log
    assert not list((houses.root / "portal").glob("*key.pem"))
    assert not (houses.root / "portal" / "server-key").exists()


def _was_refused(portal: Part) -> bool:
    return "PortalRefused" in portal.log


def test_a_portal_that_could_read_the_loops_secrets_does_not_start(houses: Houses) -> None:
    loop = houses.loop().wait_until_it_listens()
    for user, words in ((0, "runs as root, who reads everything"), (LOOP_USER, f"runs as user {LOOP_USER}")):
        portal = houses.portal(user=user)
        assert portal.process.wait(DEADLINE_S) != 0
        eventually(partial(_was_refused, portal), portal)
        assert words in portal.log
        assert str(loop.home / "server-key") in portal.log
        shutil.rmtree(portal.home)
    assert not list(houses.root.glob("portal/portal-key"))


def test_a_portal_with_the_loops_role_or_before_any_loop_does_not_start(houses: Houses) -> None:
    early = houses.portal()
    assert early.process.wait(DEADLINE_S) != 0
    eventually(lambda: "no loop has worked on this database yet" in early.log, early)
    loud = houses.portal(role=APP)
    assert loud.process.wait(DEADLINE_S) != 0
    eventually(lambda: "may do more than a portal should" in loud.log, loud)
    assert Home(early.home).server() is None
