"""/v1/doctor: a finding for each check, for administrators, whoever else asks at the same time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controlplane.api.server_load import ServerLoad
from controlplane.portal.app import create_app
from controlplane.runtime.descriptors import budget_of
from controlplane.server.cloud_readiness import Examiner
from controlplane.server.own_authority_findings import own_authority_findings
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from events.engine import DatabaseTrouble
from events.errors import StoreUnavailable
from providers.finding import Finding
from tests.fakes.asking import Asker
from tests.own_ca import BEGUN, Pki
from tests.unit.controlplane.api.portal_house import PORT, START, TOKEN, House

FINDINGS = (
    Finding("aws/default/eu-west-1: images", False, "there is no ami-1", "Correct aws.yaml."),
    Finding("aws/default/eu-west-1: quota", None, "EC2's own API does not tell it"),
)


class Begun:
    """A portal beside an examiner of `aws`; looks begin when the test says so."""

    def __init__(self) -> None:
        self.house = House()
        self.asked: list[str] = []
        self.begun: list[Callable[[], None]] = []
        examiner = Examiner(lambda: ["aws"], self._look, lambda: self.house.now, self.begun.append)
        self.app = create_app(
            replace(self.house.services, operations=replace(self.house.services.operations, examinations=examiner))
        )
        self.client = self.client_of(TOKEN)

    def client_of(self, token: str) -> TestClient:
        headers = {"Authorization": f"Bearer {token}"}
        return Asker(self.app, base_url=f"http://127.0.0.1:{PORT}", headers=headers, raise_server_exceptions=False)

    def _look(self, cloud: str) -> Iterator[Finding]:
        self.asked.append(cloud)
        yield from FINDINGS


@pytest.fixture
def portal() -> Begun:
    return Begun()


def test_findings_are_told_as_they_were_found(portal: Begun) -> None:
    (first,) = portal.client.get("/v1/doctor").json()["items"]
    assert first == {"cloud": "aws", "asking": True, "began_at": None, "ended_at": None, "findings": []}
    portal.begun.pop()()
    (told,) = portal.client.get("/v1/doctor", params={"cloud": "aws"}).json()["items"]
    assert (told["asking"], told["ended_at"]) == (False, "2026-01-01T12:00:00Z")
    assert told["findings"] == [
        {
            "what": "aws/default/eu-west-1: images",
            "well": False,
            "told": "there is no ami-1",
            "what_next": "Correct aws.yaml.",
        },
        {
            "what": "aws/default/eu-west-1: quota",
            "well": None,
            "told": "EC2's own API does not tell it",
            "what_next": "",
        },
    ]
    assert portal.asked == ["aws"]


def test_a_cloud_nobody_knows_is_refused(portal: Begun) -> None:
    refused = portal.client.get("/v1/doctor", params={"cloud": "mars"})
    assert (refused.status_code, refused.json()["code"]) == (422, "cloud-unknown")
    assert "there is aws" in refused.json()["title"]


@pytest.mark.parametrize(("role", "scope"), [("owner", "*"), ("auditor", "*"), ("admin", "team:payments")])
def test_whoever_is_no_administrator_of_everything_is_refused_and_no_cloud_is_asked(
    portal: Begun, role: str, scope: str
) -> None:
    made = portal.client.post("/v1/tokens", json={"label": "theirs", "role": role, "scope": scope}).json()
    theirs = portal.client_of(made["text"])
    assert theirs.get("/v1/doctor").status_code == 403
    assert theirs.get("/v1/doctor", params={"cloud": "mars"}).status_code == 403
    assert not portal.begun


def test_a_portal_without_clouds_behind_it_has_nothing_to_tell() -> None:
    told = House().client.get("/v1/doctor").json()
    assert (told["items"], told["database"]) == ([], [])
    assert [(f["what"], f["well"]) for f in told["server"]] == [("server: room for agents", True)]


def test_a_ca_of_the_users_own_is_a_finding_with_what_to_do(tmp_path: Path) -> None:
    house, now = House(), BEGUN + timedelta(days=30)
    Pki.root(days=100).put(tmp_path / "ending")
    Pki.root().put(tmp_path / "fine")
    folders = {name: tmp_path / name for name in ("away", "ending", "fine")}
    own = OwnAuthorities(folders, lambda: now)
    operations = replace(house.services.operations, files=lambda: tuple(own_authority_findings(own, now=now)))
    app = create_app(replace(house.services, operations=operations))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told = Asker(app, base_url=f"http://127.0.0.1:{PORT}", headers=headers).get("/v1/doctor").json()["server"][1:]
    assert [(f["what"], f["well"]) for f in told] == [
        ("CA of your own: away", False),
        ("CA of your own: ending", None),
        ("CA of your own: fine", True),
    ]
    assert "cannot be read: No such file" in told[0]["told"]
    assert "it ends on 2026-04-11" in told[1]["told"]
    assert "kedge replace-ca CLUSTER" in told[1]["what_next"]


def test_a_server_that_is_nearly_full_or_cannot_write_is_a_finding() -> None:
    house = House()
    away = DatabaseTrouble(START, "the disk is full")
    load = ServerLoad(budget_of(1024))
    load.see_agents(300)
    load.count_shed("agents", "no-room")
    app = create_app(
        replace(house.services, operations=replace(house.services.operations, load=load, database_trouble=lambda: away))
    )
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told = Asker(app, base_url=f"http://127.0.0.1:{PORT}", headers=headers).get("/v1/doctor").json()["server"]
    assert [(f["what"], f["well"]) for f in told] == [("server: room for agents", False), ("server: database", False)]
    assert "300 agents of the 336 that fit 1024 open files" in told[0]["told"]
    assert "1 requests of agents" in told[0]["told"]
    assert "ulimit -n" in told[0]["what_next"]
    assert "the disk is full" in told[1]["told"]


def test_a_database_that_does_not_answer_is_a_finding_and_no_error() -> None:
    def away() -> list[Finding]:
        raise StoreUnavailable("database sqlite:///x did not answer")

    services = House().services
    app = create_app(replace(services, operations=replace(services.operations, database=away)))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Asker(app, base_url=f"http://127.0.0.1:{PORT}", headers=headers).get("/v1/doctor")
    assert answer.status_code == 200
    assert [(f["what"], f["well"]) for f in answer.json()["database"]] == [("database", False)]


def test_a_role_in_the_database_that_may_too_much_is_told_with_what_to_do() -> None:
    house = House()
    found = Finding("database", False, "role kedge could change events: it owns event", "kedge db grants")
    app = create_app(replace(house.services, operations=replace(house.services.operations, database=lambda: (found,))))
    client = Asker(app, base_url=f"http://127.0.0.1:{PORT}", headers={"Authorization": f"Bearer {TOKEN}"})
    (told,) = client.get("/v1/doctor").json()["database"]
    assert told == {"what": "database", "well": False, "told": found.told, "what_next": "kedge db grants"}
