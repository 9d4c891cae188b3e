"""A spec gets one answer, whichever way it comes: specs by ways."""

import html
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.spec_form import cluster_text, topic_text
from controlplane.background.git_sync.second_person import waits_for_somebody
from controlplane.commands.policies.files import parse
from controlplane.commands.policies.store import PolicySet
from controlplane.portal.new_spec import SpecForm
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.background.git_sync.git_house import GitHouse
from tests.unit.controlplane.cli.cli_world import World
from tests.unit.events.spec_texts import ORDERS, edited

FILE = "shop.yaml"
POLICY = "apiVersion: kedge/v1alpha1\nkind: Policy\nmetadata: {name: house}\n"


@dataclass
class Switched:
    """Policies that come into force when a case says so."""

    known: PolicySet = field(default_factory=PolicySet)

    def current(self) -> PolicySet:
        return self.known

    def prices(self) -> PriceList:
        return PriceList()


@dataclass(frozen=True)
class Answer:
    """`allowed`, `reserved` or `refused`, and what refuses it."""

    word: str
    messages: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Case:
    """`before` is in force, then `policy` is, and clouds that are `gone` are no more; then `form`, or `text`, is asked
    for. A part of each of `says` stands in what refuses it."""

    name: str
    form: SpecForm | None = None
    text: str = ""
    before: str = ""
    policy: str = ""
    gone: bool = False
    word: str = "refused"
    says: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        if self.form is None:
            return self.text
        return (topic_text if self.form.kind == "topic" else cluster_text)(self.form.fields())


SHOP = SpecForm(
    name="shop",
    owner="payments",
    version="4.1.1",
    cloud="local",
    region="local-1",
    zones=["a", "b", "c"],
    machine="medium",
    controllers="3",
    brokers="3",
    disk="100",
)
FAR = SHOP.model_copy(
    update={
        "cloud": "aws",
        "region": "eu-central-1",
        "zones": ["eu-central-1a", "eu-central-1b", "eu-central-1c"],
        "machine": "m99.vast",
    }
)
CLICKS = SpecForm(kind="topic", name="clicks", cluster="shop", partitions="6", retention="72")


def _cluster(**changes: str) -> str:
    return cluster_text(SHOP.model_copy(update=changes).fields())


def _form(form: SpecForm = SHOP, **changes: str) -> SpecForm:
    return form.model_copy(update=changes)


ROLLED = edited({19: "      size: 6"})
CASES = (
    Case(name="a new cluster", form=SHOP, word="allowed"),
    Case(name="a machine there is not", form=FAR, says=("m99.vast",)),
    Case(name="a cloud there is not", form=_form(cloud="nimbus"), says=("nimbus",)),
    Case(name="a policy's limit", form=SHOP, policy="limits: {maxBrokers: 2}", says=("at most 2",)),
    Case(
        name="two faults of two kinds",
        form=FAR,
        policy="limits: {maxBrokers: 2}",
        says=("m99.vast", "at most 2"),
    ),
    Case(
        name="a pool of controllers by another name",
        text=ORDERS.replace("name: controllers", "name: voters"),
        before=ORDERS,
        says=("cannot become `voters`",),
    ),
    Case(
        name="a change that a second person must approve",
        form=_form(owner="billing"),
        before=_cluster(),
        policy="reserved: {ownerChange: true}",
        word="reserved",
    ),
    Case(
        name="in force, though a policy forbids it since",
        form=SHOP,
        before=_cluster(),
        policy="limits: {maxBrokers: 2}",
        word="allowed",
    ),
    Case(name="in force, though its cloud is gone", form=SHOP, before=_cluster(), gone=True, word="allowed"),
    Case(
        name="a change where its cloud is gone", form=_form(brokers="6"), before=_cluster(), gone=True, says=("local",)
    ),
    Case(name="clients where networks get addresses", text=f"{ORDERS}  access:\n    clients: [10.64.0.0/16]\n"),
    Case(
        name="one rolls beside one whose roll is not over",
        text=f"{ORDERS}---\n{ROLLED.replace('name: orders', 'name: ledger')}",
        before=f"{ORDERS}---\n{ORDERS.replace('name: orders', 'name: ledger')}",
        policy="limits: {maxRolling: 1}",
        word="allowed",
    ),
    Case(name="a topic", form=CLICKS, before=_cluster(), word="allowed"),
    Case(name="a topic of no cluster", form=CLICKS, says=("there is no cluster `shop`",)),
    Case(
        name="a topic of more replicas than there are brokers",
        form=_form(CLICKS, tier="critical"),
        before=_cluster(brokers="1"),
        says=("replicas",),
    ),
    Case(
        name="a topic's limit",
        form=CLICKS,
        before=_cluster(),
        policy="limits: {maxTopicPartitions: 4}",
        says=("at most 4",),
    ),
    Case(
        name="a topic as it is declared, though a policy forbids it since",
        form=CLICKS,
        before=f"{_cluster()}---\n{topic_text(CLICKS.fields())}",
        policy="limits: {maxTopicPartitions: 4}",
        word="allowed",
    ),
)


def _prepared(case: Case, monkeypatch: pytest.MonkeyPatch, declare: Callable[[House], None] | None = None) -> House:
    policies = Switched()
    house = House(policies=policies)
    if case.before:
        (declare or (lambda house: _declared(house, case.before)))(house)
    if case.policy:
        policies.known = PolicySet(parse({"p.yaml": f"{POLICY}{case.policy}\n"}))
    if case.gone:
        monkeypatch.setattr("controlplane.commands.admission.spec.names", lambda: ("aws",))
    return house


def _declared(house: House, text: str) -> None:
    answer = house.apply(text)
    assert answer["ok"], answer["problems"]


def _word(*, ok: bool, reserved: bool) -> str:
    return ("reserved" if reserved else "allowed") if ok else "refused"


def _of_body(body: dict[str, object], *, reserved: bool = False) -> Answer:
    problems = body["problems"]
    assert isinstance(problems, list)
    errors = frozenset(p["message"] for p in problems if p["severity"] == "error")
    return Answer(_word(ok=bool(body["ok"]), reserved=reserved or bool(body.get("reserved"))), errors)


def _by_plan(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    asked = {"text": case.wanted, "file": FILE}
    return _of_body(_prepared(case, monkeypatch).client.post("/v1/plan", json=asked).json())


def _by_apply(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    house = _prepared(case, monkeypatch)
    asked = {"text": case.wanted, "file": FILE, "dry_run": True}
    answer = house.client.post("/v1/apply", json=asked)
    assert answer.status_code == 200, answer.text
    return _of_body(answer.json())


def _by_command_line(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    house, world = _prepared(case, monkeypatch), World(tmp_path)

    def asked(request: httpx.Request) -> httpx.Response:
        sent = {"content-type": "application/json"}
        answer = house.client.request(request.method, request.url.path, content=request.content, headers=sent)
        return httpx.Response(answer.status_code, content=answer.content, headers=dict(answer.headers))

    file, transport = world.spec(case.wanted, FILE), httpx.MockTransport(asked)
    validated = world.run("validate", "-f", file, "-o", "json", transport=transport)
    assert validated.stdout, validated.output
    answer = _of_body(json.loads(validated.stdout))
    planned = world.run("plan", "-f", file, "--json", transport=transport)
    assert (validated.exit_code, planned.exit_code) == ((1, 1) if answer.word == "refused" else (0, 0)), planned.output
    return (
        answer if planned.exit_code else _of_body(json.loads(validated.stdout), reserved=_is_reserved(planned.stdout))
    )


def _is_reserved(planned: str) -> bool:
    return bool(json.loads(planned)["reserved"])


def _by_page(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    house = _prepared(case, monkeypatch)
    assert case.form is not None
    answer = house.browser("ada", Binding("", Role.ADMIN, "*")).post("/new", data=case.form.model_dump())
    shown = html.unescape(answer.text)
    problems = house.client.post("/v1/plan", json={"text": case.wanted, "file": FILE}).json()["problems"]
    told = frozenset(p["message"] for p in problems if p["severity"] == "error" and p["message"] in shown)
    is_reserved = "A second person must approve" in shown
    return Answer(_word(ok=answer.status_code == 200, reserved=is_reserved), told)


def _by_git(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    houses: list[GitHouse] = []

    def pushed(house: House) -> None:
        houses.append(GitHouse(house))
        houses[0].push({FILE: case.before})
        assert not [p for p in houses[0].status.problems if p.is_error]

    house = _prepared(case, monkeypatch, pushed)
    git = houses[0] if houses else GitHouse(house)
    # A source declares all of its files at every commit: what a topic stands beside stays as it is.
    stays = case.before.split("---\n")[0] if case.form is not None and case.form.kind == "topic" else ""
    git.push({FILE: f"{stays}---\n{case.wanted}" if stays else case.wanted})
    errors = [p for p in git.status.problems if p.is_error]
    waits = bool(errors) and all(waits_for_somebody(p) for p in errors)
    told = frozenset(p.message for p in errors if not waits_for_somebody(p))
    return Answer(_word(ok=not errors or waits, reserved=waits), told)


WAYS = (_by_plan, _by_apply, _by_command_line, _by_page, _by_git)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_api_pages_the_command_line_and_git_give_one_answer(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = {}
    for way in WAYS:
        if way is _by_page and case.form is None:
            continue  # a form has no field for it
        with monkeypatch.context() as patched:
            answers[way.__name__.removeprefix("_by_")] = way(case, patched, tmp_path)
    assert {answer.word for answer in answers.values()} == {case.word}, answers
    assert len({answer.messages for answer in answers.values()}) == 1, answers
    told = answers["plan"].messages
    assert all(any(part in message for message in told) for part in case.says), told
    assert bool(told) == (case.word == "refused")
