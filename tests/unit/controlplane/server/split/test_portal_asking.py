"""What a portal leaves to the loop, and how it says so; and which doors the two keep shut."""

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controlplane.api.services import PortalServices
from controlplane.background.notifications.service import NotifierService
from controlplane.cluster.commands import CommandRefused, PauseCluster
from controlplane.portal.app import create_app
from controlplane.server.settings import ServerSettingsRefused, load_settings
from controlplane.server.split.commands import PortalCommands, PortalNotifiers, no_backup
from controlplane.server.split.message import LoopMessage
from controlplane.server.split.null_ports import IDLE, NEVER_LEADS
from controlplane.server.split.subscriber import LoopSubscriber
from tests.fakes.asking import Asker
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.outbox import MemoryOutbox
from tests.unit.controlplane.api.portal_house import PORT, TOKEN, House
from tests.unit.events.spec_texts import ORDERS

FILES = {"policies/a.yaml": "1"}


class Heard(LoopSubscriber):
    """Has heard a loop with those files."""

    def __init__(self, files: dict[str, str] | None) -> None:
        super().__init__(MemoryLatestStore(), lambda: House().now)
        if files is not None:
            self._last_message = LoopMessage(
                server="a", epoch=1, interval_s=0.5, position=0, count=1, planner="spark", files=files
            )


def client_of(services: PortalServices) -> TestClient:
    url, headers = f"http://127.0.0.1:{PORT}", {"Authorization": f"Bearer {TOKEN}"}
    return Asker(create_app(services), base_url=url, headers=headers, raise_server_exceptions=False)


def portal_of(house: House, heard: dict[str, str] | None = FILES) -> TestClient:
    commands = PortalCommands(house.services.cluster.commands, Heard(heard), lambda: FILES)
    return client_of(
        replace(
            house.services,
            cluster=replace(house.services.cluster, commands=commands),
            operations=replace(house.services.operations, backup=no_backup, part="portal", leadership=NEVER_LEADS),
        )
    )


@pytest.fixture
def house() -> House:
    return House()


def test_a_portal_takes_what_people_ask_for(house: House) -> None:
    portal = portal_of(house)
    assert portal.post("/v1/apply", json={"text": ORDERS}).json()["ok"]
    assert portal.post("/v1/clusters/orders/pause", json={"reason": "x"}).json()["changed"]
    assert portal.get("/v1/version").json()["part"] == "portal"


def test_a_fault_is_refused_before_it_is_recorded_with_the_way_to_the_loop(house: House) -> None:
    portal = portal_of(house)
    portal.post("/v1/apply", json={"text": ORDERS})
    head = house.store.head()
    asked = {"fault": "kill-vm", "for_s": 60, "vms": ["brokers-a-0"], "reason": "x", "confirm": "orders"}
    refused = portal.post("/v1/clusters/orders/chaos", json=asked)
    assert (refused.status_code, refused.json()["code"]) == (409, "ask-the-loop")
    assert "KEDGE_HOME=HOME_OF_THE_LOOP kedge chaos" in refused.json()["next"]
    assert house.store.head() == head


def test_a_backup_is_the_loops_to_make(house: House, tmp_path: Path) -> None:
    refused = portal_of(house).post("/v1/backup", json={"path": str(tmp_path / "b")})
    assert (refused.status_code, refused.json()["code"]) == (409, "ask-the-loop")
    assert f"kedge backup {tmp_path}/b" in refused.json()["next"]


def test_a_backup_into_a_folder_the_server_may_not_look_into_is_no_error_nobody_foresaw(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(self: Path, *, follow_symlinks: bool = True) -> object:
        raise PermissionError(13, "Permission denied")

    def unwritable(path: Path) -> object:
        raise PermissionError(13, "Permission denied")

    client = client_of(replace(house.services, operations=replace(house.services.operations, backup=unwritable)))
    monkeypatch.setattr(Path, "stat", closed)
    answer = client.post("/v1/backup", json={"path": "/root/b"})
    monkeypatch.undo()
    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (
        *(422, "not-writable"),
        "Permission denied",
    )


@pytest.mark.parametrize("theirs", [{"policies/a.yaml": "2"}, {}, {**FILES, "aws.yaml": "1"}])
def test_a_portal_that_judges_by_other_files_than_the_loop_takes_no_declaration(
    house: House, theirs: dict[str, str]
) -> None:
    house.apply()
    portal = portal_of(house, theirs)
    text = ORDERS.replace("4.1.1", "4.2.0")
    refused = portal.post("/v1/apply", json={"text": text})
    named = "policies/a.yaml" if "aws.yaml" not in theirs else "aws.yaml"
    assert refused.json()["code"] == "homes-differ", refused.text
    assert named in refused.json()["detail"]
    assert portal.post("/v1/clusters/orders/pause", json={"reason": "x"}).json()["changed"], (
        "a brake is not a declaration"
    )


def test_before_any_word_of_a_loop_there_is_nothing_to_compare_with(house: House) -> None:
    assert portal_of(house, None).post("/v1/apply", json={"text": ORDERS}).json()["ok"]


def test_a_portal_tells_a_notifier_nothing(house: House) -> None:
    service = PortalNotifiers(NotifierService((), {}, MemoryOutbox(), lambda: house.now))
    assert service.all() == []
    with pytest.raises(CommandRefused) as refused:
        service.test("oncall")
    assert "kedge notifiers test oncall" in refused.value.what_next


def test_no_agent_calls_a_portal(house: House) -> None:
    portal = portal_of(house)
    for path in ("/agent/v1/ca", "/agent/v1/enrol", "/agent/v1/desired"):
        assert portal.get(path).json()["code"] == "people-only", path


@pytest.mark.parametrize(
    "path", ["/", "/login", "/clusters/orders", "/static/kedge.css", "/hooks/git/x", "/oidc/begin"]
)
def test_a_loop_serves_no_page_no_hook_and_no_sign_in(house: House, path: str) -> None:
    loop = client_of(replace(house.services, operations=replace(house.services.operations, part="loop")))
    assert (loop.get(path).status_code, loop.get(path).json()["code"]) == (403, "loop-only")


def test_a_loop_answers_its_operator_its_agents_and_who_looks_after_it(house: House) -> None:
    loop = client_of(replace(house.services, operations=replace(house.services.operations, part="loop")))
    assert loop.get("/healthz").text == "ok\n"
    assert loop.get("/v1/version").json()["part"] == "loop"
    assert loop.get("/v1/version", headers={"Authorization": "Bearer nobody"}).status_code == 401
    assert loop.get("/agent/v1/ca").json()["code"] != "loop-only"


def test_a_page_says_that_the_loop_is_silent_and_only_then(house: House) -> None:
    house.apply()
    said = "the loop has not been seen since 2026-01-01 12:00:00 UTC"
    quiet = client_of(house.services).get("/", headers={"Accept": "text/html"}).text
    told = (
        client_of(replace(house.services, operations=replace(house.services.operations, loop_notice=lambda: said)))
        .get("/", headers={"Accept": "text/html"})
        .text
    )
    assert (said in quiet, said in told) == (False, True)


def test_nobody_leads_and_nothing_acts_in_a_portal() -> None:
    from controlplane.storage.lease import LostLeadership

    assert (NEVER_LEADS.may_act, NEVER_LEADS.held_epoch()) == (False, None)
    with pytest.raises(LostLeadership):
        NEVER_LEADS.epoch()
    with pytest.raises(LostLeadership):
        IDLE.terminate(House().converger.views(), "i-1")  # type: ignore[arg-type]


def test_other_commands_pass_as_they_are(house: House) -> None:
    house.apply()
    commands = PortalCommands(house.services.cluster.commands, Heard(FILES), lambda: FILES)
    pause = PauseCluster(name="orders", actor="ann", command_id="c", reason="x")
    assert commands.handle(pause).changed
    assert commands.current("orders").name == "orders"


@pytest.mark.parametrize("only", ["loop", "portal"])
def test_either_part_needs_postgresql(tmp_path: Path, only: str) -> None:
    with pytest.raises(ServerSettingsRefused, match=f"only = '{only}' needs PostgreSQL"):
        load_settings(home=tmp_path, only=only)
    assert load_settings(home=tmp_path, only=only, database_url="postgresql://db/kedge").process.only == only


def test_another_word_is_no_part(tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match="KEDGE_PROCESS__ONLY"):
        load_settings(home=tmp_path, only="agent", database_url="postgresql://db/kedge")
