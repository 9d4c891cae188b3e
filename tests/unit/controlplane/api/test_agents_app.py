"""Where agents alone are served: they are answered as by a whole server, and who else asks is told where to go."""

import hashlib
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from controlplane.api.agents_app import create_agents_app
from controlplane.cluster.observed.agent_telemetry import AgentTelemetry
from events.ids import IntentId
from tests.unit.controlplane.api.portal_house import PORT, TOKEN, House, broker, vm_of

CREDENTIAL = "c" * 64


class Apart:
    """A process that answers agents beside a whole server, with the same records."""

    def __init__(self) -> None:
        self.house = House(remembers_agents=True)
        self.house.apply()
        self.vm = vm_of(self.house.launch(broker()), broker())
        digest = hashlib.sha256(CREDENTIAL.encode()).hexdigest()
        self.house.credentials.enroll(self.vm, credential_sha256=digest, intent_id=IntentId("intent-1"))
        self.why_not = ""
        self.sent = AgentTelemetry()
        services = self.house.services
        operations = replace(services.operations, part="agents", why_not_ready=lambda: self.why_not)
        self.app = create_agents_app(
            replace(services, operations=operations), telemetry=lambda: self.sent, reports_every_s=0
        )

    def client(self, token: str = TOKEN, host: str = f"127.0.0.1:{PORT}", **headers: str) -> TestClient:
        shown = {"Authorization": f"Bearer {token}", **headers}
        return TestClient(self.app, base_url=f"http://{host}", headers=shown, raise_server_exceptions=False)

    def agent(self) -> TestClient:
        instance = f"{self.vm.cluster_uid}/{self.vm.node}.g{self.vm.generation}"
        return self.client(CREDENTIAL, **{"X-Kedge-Instance": instance})

    def document(self) -> dict[str, object]:
        params = {"cluster": self.vm.cluster_uid, "node": self.vm.node, "generation": 1}
        told: dict[str, object] = self.agent().get("/agent/v1/document", params=params).json()
        return told


@pytest.fixture
def apart() -> Apart:
    return Apart()


def test_an_agent_hears_there_what_a_whole_server_tells_it(apart: Apart) -> None:
    params = {"cluster": apart.vm.cluster_uid, "node": apart.vm.node, "generation": 1}
    whole = apart.house.agent(apart.vm, CREDENTIAL).get("/agent/v1/document", params=params)
    assert apart.document() == whole.json()


def test_what_agents_send_follows_from_the_settings_of_who_leads(apart: Apart) -> None:
    assert apart.document()["metrics"] is None
    apart.house.record()
    apart.app.state.offers._remembered.clear()
    apart.sent = AgentTelemetry(metrics=True, logs=True)
    told = apart.document()
    assert told["metrics"] is not None
    assert told["logs"] is not None


@pytest.mark.parametrize("path", ["/", "/clusters/orders", "/v1/clusters", "/v1/apply", "/login", "/terraform/x"])
def test_people_and_programs_are_told_that_they_are_wrong_here(apart: Apart, path: str) -> None:
    refused = apart.client().get(path)
    assert (refused.status_code, refused.json()["code"]) == (421, "agents-only")
    assert "kedge server" in refused.json()["next"]


def test_a_browser_reads_it_as_a_sentence(apart: Apart) -> None:
    page = apart.client(Accept="text/html").get("/")
    assert page.status_code == 421
    assert page.text.startswith("only agents are served here, no people and no API\nAsk the server: `kedge server`")


def test_what_spreads_agents_hears_whether_to_send_them_here_whatever_it_calls_it(apart: Apart) -> None:
    anybody = apart.client("nothing", host="10.0.0.9:8443")
    assert (anybody.get("/readyz").status_code, anybody.get("/readyz").text) == (200, "ready\n")
    apart.why_not = "no server leads"
    assert (anybody.get("/readyz").status_code, anybody.get("/readyz").text) == (503, "not ready: no server leads\n")
    assert anybody.get("/healthz").text == "ok\n", "to start it again would not mend that"
    assert anybody.get("/v1/version").status_code == 421, "another host than its own"


def test_its_metrics_are_of_the_process_and_say_what_it_is(apart: Apart) -> None:
    assert apart.client("nothing").get("/v1/metrics").status_code == 401
    told = apart.client().get("/v1/metrics").text
    assert 'kedge_build_info{part="agents",version="1.2.3"} 1.0' in told
    assert "kedge_ready 1.0" in told
    assert "kedge_agents_fit" in told
    assert "kedge_cluster" not in told, "the fleet is told by the server, once"
    assert apart.client().get("/v1/version").json()["part"] == "agents"
