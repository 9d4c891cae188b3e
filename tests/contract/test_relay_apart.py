"""A relay as a process of its own does not start where it could be more than one: as root, by another part's role, in
another part's home, with credentials that others read.
"""

import json
import os
from collections.abc import Callable, Iterator

import pytest

from tests.contract.apart import DEADLINE_S, Houses, Part, houses_on
from tests.contract.server_process import eventually
from tests.databases import APP, PORTAL, READER, RELAY, as_role

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root"),
]

RELAY_USER = 61003


@pytest.fixture
def houses(fresh_database: Callable[[str], str]) -> Iterator[Houses]:
    """Ended, whatever came of it."""
    with houses_on(fresh_database("postgresql")) as built:
        yield built


def relay(houses: Houses, *, user: int = RELAY_USER, role: str = RELAY, properties_file: str = "") -> Part:
    more = {"properties_file": properties_file} if properties_file else {}
    topic = json.dumps({"bootstrap": ["127.0.0.1:9"], "topic": "kedge-audit", **more})
    return houses.begun("relay", user, as_role(houses.database, role), KEDGE_AUDIT_TOPIC=topic)


def refused(part: Part) -> str:
    assert part.process.wait(DEADLINE_S) != 0, part.log
    eventually(lambda: "Refused" in part.log or "Unusable" in part.log, part)
    return part.log


def test_a_relay_that_could_be_more_does_not_start(houses: Houses) -> None:
    home = houses.home("relay", RELAY_USER)
    assert "runs as root, who reads everything" in refused(relay(houses, user=0))
    for role in (APP, READER, PORTAL):
        assert f"role {role} of the database may do more than a relay should" in refused(relay(houses, role=role))
    properties = home / "audit.properties"
    properties.write_text("sasl.password=x\n")
    os.chown(properties, RELAY_USER, RELAY_USER)
    properties.chmod(0o644)
    assert "chmod 600 it" in refused(relay(houses, properties_file=str(properties)))
    (home / "server-key").write_text("x")
    assert "is the home of a server: it has server-key" in refused(relay(houses))
