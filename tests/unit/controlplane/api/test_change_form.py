"""A form changes what is declared: filled from what is in force, shown before it is done, void once that has moved."""

import html
import re

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.change_form import (
    changed_text,
    cluster_fields,
    diff_lines,
    moved_on,
    topic_data,
    topic_fields,
)
from controlplane.api.read_models.spec_form import text_of
from controlplane.commands.topic_declaration import declaration_of
from events import facts
from events.spec.conversion import shortest_data
from events.spec.document import load_documents
from events.spec.topic_model import KafkaTopicDocument
from events.topic_facts import TopicDeclaration
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import OURS, OWNER, TOPIC, Shelved
from tests.unit.events.spec_texts import document

CHANGE = "/clusters/orders/change"
CLICKS = "/clusters/orders/topics/clicks/change"
BROKERS = "spec.pools[1].size"


@pytest.fixture
def house() -> House:
    house = House(policies=Shelved())
    house.apply(OURS + TOPIC)
    return house


@pytest.fixture
def ada(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def fields_in(page: str) -> dict[str, str]:
    """What a browser would send with the form of that page."""
    form = page[page.index('<form action="" method="post">') :]
    found = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form))
    found |= dict(re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>([^<]*)</textarea>', form))
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', form):
        found[name] = re.findall(r"<option selected>([^<]*)<", options)[0]
    return {name: html.unescape(text) for name, text in found.items()}


def sent(browser: TestClient, path: str, **changes: str) -> tuple[int, str]:
    """Opened, filled in, looked at, agreed to: the answer to the last step."""
    opened = fields_in(browser.get(path).text)
    seen = browser.post(path, data={**opened, **changes, "do": "preview"})
    if seen.status_code != 200:
        return seen.status_code, seen.text
    answer = browser.post(path, data={**fields_in(seen.text), "do": "apply"})
    return answer.status_code, answer.headers.get("location", answer.text)


# --- the file -------------------------------------------------------------------------------------------------------


def test_a_form_that_nobody_touched_says_what_is_in_force() -> None:
    cluster = document()
    data = shortest_data(cluster)
    fields = cluster_fields(data)
    text = changed_text(data, fields, {f.path: f.declared for f in fields})
    assert load_documents(text, file="x").documents == (cluster,)
    assert diff_lines(text_of(data), text) == []


@pytest.mark.parametrize(
    "declared",
    [
        TopicDeclaration("clicks", 3, 3, {}, "standard", "", "retain", "tell", {}),
        TopicDeclaration(
            "a.b_c",
            12,
            3,
            {"min.insync.replicas": "2", "retention.ms": "1", "unclean.leader.election.enable": "false"},
            "critical",
            "payments",
            "delete",
            "recreate",
            {"env": "prod"},
        ),
        TopicDeclaration("s", 1, 2, {"min.insync.replicas": "1"}, "scratch", "", "retain", "tell", {}),
        TopicDeclaration("r", 3, 3, {}, "standard", "", "retain", "tell", {}, rate_min=5),
        TopicDeclaration("l", 3, 3, {}, "standard", "", "retain", "tell", {}, rate_learn=True),
    ],
)
def test_a_declared_topic_becomes_a_file_that_declares_the_same(declared: TopicDeclaration) -> None:
    cluster = document()
    data = topic_data(cluster, declared)
    fields = topic_fields(data)
    text = changed_text(data, fields, {f.path: f.declared for f in fields})
    loaded = load_documents(text, file="x")
    assert [declaration_of(t, cluster) for t in loaded.topics] == [declared], loaded.problems


def test_only_what_was_typed_differs_in_the_file() -> None:
    data = shortest_data(document())
    fields = cluster_fields(data)
    typed = {
        **{f.path: f.declared for f in fields},
        BROKERS: " 5 ",
        "spec.kafka.config": "log.retention.hours: 72\r\nnum.io.threads: 8\r\n",
        "spec.pools[1].place.zones": "a b c",
    }
    text = changed_text(data, fields, typed)
    lines = [line.text for line in diff_lines(text_of(data), text) if line.kind in ("added", "gone")]
    assert lines == ["+      num.io.threads: '8'", "-    size: 3", "+    size: 5"]


def test_figures_of_a_machine_stay_in_the_file_whatever_else_is_changed() -> None:
    given = "{type: huge, architecture: x86_64, cpus: 64, memoryMib: 262144, networkMbps: 25000}"
    cluster = document({20: f"      machine: huge\n      machineFigures: [{given}]"})
    data = shortest_data(cluster)
    fields = cluster_fields(data)
    text = changed_text(data, fields, {**{f.path: f.declared for f in fields}, BROKERS: "5"})
    (after,) = load_documents(text, file="x").documents
    assert after.spec.pools[1].machine_figures == cluster.spec.pools[1].machine_figures
    assert (after.spec.pools[1].size, after.spec.pools[1].machine_figures[0].network_mbps) == (5, 25000)


def test_a_key_that_was_emptied_is_left_to_its_default() -> None:
    data = topic_data(document(), TopicDeclaration("t", 3, 2, {"a.b": "1"}, "standard", "me", "retain", "tell", {}))
    fields = topic_fields(data)
    text = changed_text(data, fields, {"spec.replicas": "", "spec.config": " ", "metadata.owner": ""})
    loaded = KafkaTopicDocument.model_validate(load_documents(text, file="x").topics[0])
    assert (loaded.spec.replicas, loaded.spec.config, loaded.metadata.owner) == (None, {}, "")


def test_what_makes_no_sense_is_left_for_the_rules_of_specs() -> None:
    data = shortest_data(document())
    fields = cluster_fields(data)
    text = changed_text(data, fields, {BROKERS: "many", "spec.kafka.config": "no pair"})
    paths = {p.path for p in load_documents(text, file="x").problems}
    assert paths == {BROKERS, "spec.kafka.config"}


def test_of_an_overtaken_form_only_what_was_changed_in_it_is_kept() -> None:
    fields = cluster_fields(shortest_data(document()))
    base = {f.path: f.declared for f in fields} | {"spec.kafka.version": "4.1.0", BROKERS: "2"}
    kept = moved_on(fields, base, {**base, BROKERS: "6"})
    assert (kept[BROKERS], kept["spec.kafka.version"]) == ("6", "4.1.1")


# --- the page -------------------------------------------------------------------------------------------------------


def test_a_change_is_shown_with_its_difference_plan_and_class_and_then_declared(house: House, ada: TestClient) -> None:
    opened = fields_in(ada.get(CHANGE).text)
    assert (opened[BROKERS], opened["spec.kafka.config"]) == ("3", "log.retention.hours: 72")
    seen = ada.post(CHANGE, data={**opened, BROKERS: "4", "spec.kafka.config": "log.retention.hours: 24"})
    assert seen.status_code == 200
    for words in (
        "<strong>Changed.</strong> In force: <code>3</code>",
        '<span class="was">-    size: 3</span>',
        '<span class="is">+    size: 4</span>',
        "spec.pools[brokers].size: 3 -&gt; 4   (behavioural: only Kedge behaves differently)",
        "becomes generation 2",
    ):
        assert words in seen.text, words
    assert house.view().generation == 1
    answer = ada.post(CHANGE, data={**fields_in(seen.text), "do": "apply"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/orders")
    document_now = house.view().document
    assert document_now is not None
    assert document_now.spec.pools[1].size == 4
    assert document_now.spec.kafka.config == {"log.retention.hours": "24"}
    assert document_now.metadata.owner == "payments"


def test_a_form_sent_twice_is_recorded_once(house: House, ada: TestClient) -> None:
    opened = fields_in(ada.get(CHANGE).text)
    agreed = {**fields_in(ada.post(CHANGE, data={**opened, BROKERS: "4"}).text), "do": "apply"}
    assert ada.post(CHANGE, data=agreed).status_code == 303
    assert ada.post(CHANGE, data=agreed).status_code == 409, "The declaration has changed since the form was opened"
    assert house.view().generation == 2


def test_a_problem_and_a_policys_limit_stand_at_their_fields(ada: TestClient) -> None:
    status, text = sent(ada, CHANGE, **{BROKERS: "9", "spec.kafka.version": "one"})
    assert status == 422
    assert re.search(r'name="spec.kafka.version" aria-invalid="true" aria-describedby="e-2 w-2"', text)
    status, text = sent(ada, CHANGE, **{BROKERS: "9"})
    assert status == 422
    assert "9 brokers, at most 4 may be" in text
    assert re.search(r'name="spec.pools\[1\].size" aria-invalid="true"', text)


def test_what_a_policy_reserves_is_proposed(house: House, ada: TestClient) -> None:
    both = house.browser("eva", OWNER, Binding("", Role.OWNER, "team:search"))
    status, where = sent(both, CHANGE, **{"metadata.owner": "search"})
    assert (status, where.startswith("/proposals/")) == (303, True)
    assert house.view().generation == 1
    assert "the owner changes from payments to search" in both.get(where).text


def test_a_change_after_somebody_elses_is_not_lost_and_loses_nothing(house: House, ada: TestClient) -> None:
    opened = fields_in(ada.get(CHANGE).text)
    house.apply(OURS.replace("log.retention.hours: 72", "log.retention.hours: 12"))
    late = ada.post(CHANGE, data={**opened, BROKERS: "4", "do": "apply"})
    assert late.status_code == 409
    assert "Conflict: nothing was recorded" in late.text
    row = re.search(r"<tr><th scope=\"row\">Kafka settings</th>(.*?)</tr>", late.text)
    assert row is not None
    assert re.findall(r"hours: (\d+)", row[1]) == ["72", "12", "72"], "as it was, as it is, as it was sent"
    assert house.view().generation == 2
    again = fields_in(late.text)
    assert (again[BROKERS], again["spec.kafka.config"]) == ("4", "log.retention.hours: 12")
    done = ada.post(CHANGE, data={**fields_in(ada.post(CHANGE, data=again).text), "do": "apply"})
    assert done.status_code == 303
    now = house.view().document
    assert now is not None
    assert (now.spec.pools[1].size, now.spec.kafka.config) == (4, {"log.retention.hours": "12"})


def test_what_was_not_shown_is_not_declared(house: House, ada: TestClient) -> None:
    opened = fields_in(ada.get(CHANGE).text)
    shown = fields_in(ada.post(CHANGE, data={**opened, BROKERS: "4"}).text)
    answer = ada.post(CHANGE, data={**shown, BROKERS: "2", "do": "apply"})
    assert answer.status_code == 422
    assert "has changed since it was shown" in answer.text
    assert house.view().generation == 1


def test_a_cluster_of_a_git_source_is_shown_and_refused_with_the_address_of_its_file(
    house: House, ada: TestClient
) -> None:
    house.record(facts.SourceChanged("git:fleet", "ssh://git/fleet", "main", "orders.yaml", "c0ffee0", "zoe", "x"))
    opened = ada.get(CHANGE).text
    assert "It cannot be changed here:" in opened
    seen = ada.post(CHANGE, data={**fields_in(opened), BROKERS: "4"})
    assert seen.status_code == 200
    assert ">Declare</button>" not in seen.text
    answer = ada.post(CHANGE, data={**fields_in(seen.text), "do": "apply"})
    assert answer.status_code == 409
    assert "orders.yaml in ssh://git/fleet, branch main" in answer.text
    assert house.view().generation == 1
    file = ada.post(CHANGE, data={**fields_in(seen.text), "do": "download"})
    assert file.headers["content-disposition"] == 'attachment; filename="orders.yaml"'
    assert "size: 4" in file.text


def test_a_topic_is_changed_and_an_overtaken_form_of_it_refused(house: House, ada: TestClient) -> None:
    early = fields_in(ada.get(CLICKS).text)
    settings = {"spec.partitions": "6", "spec.config": "retention.ms: 1000"}
    assert sent(ada, CLICKS, **settings) == (303, "/clusters/orders/topics")
    declared = house.view().topics.by_name["clicks"].declared
    assert (declared.partitions, declared.config) == (6, {"retention.ms": "1000"})
    late = ada.post(CLICKS, data={**early, "spec.tier": "critical"})
    assert late.status_code == 409
    assert fields_in(late.text)["spec.partitions"] == "6"
    assert fields_in(late.text)["spec.tier"] == "critical"


def test_partitions_never_shrink_and_the_field_says_so(house: House, ada: TestClient) -> None:
    house.snapshots[house.view().uid] = a_snapshot(*(a_partition(f"clicks-{n}") for n in range(3)))
    status, text = sent(ada, CLICKS, **{"spec.partitions": "1"})
    assert status == 422
    assert re.search(r'name="spec.partitions" aria-invalid="true"', text)


def test_a_topic_that_changed_between_the_look_and_the_record_is_refused(house: House) -> None:
    """The handler compares what it is about to do with what was shown, on the history it writes to."""
    from controlplane.cluster.commands import CommandRefused, DeclareTopics, TopicDeclared

    text = TOPIC.replace("partitions: 3", "partitions: 6")
    shown = house.client.post("/v1/plan", json={"text": text}).json()["digest"]
    topics = tuple(TopicDeclared(t) for t in load_documents(text, file="t.yaml").topics)
    house.apply(TOPIC.replace("partitions: 3", "partitions: 4"))
    who = {"name": "orders", "actor": "person:ada", "command_id": "1"}
    command = DeclareTopics(**who, topics=topics, source="api", plan_digest=shown)
    with pytest.raises(CommandRefused, match="what is in force of these topics changed since it was made"):
        house.services.cluster.commands.handle(command)


def test_a_change_of_labels_alone_is_told(house: House, ada: TestClient) -> None:
    opened = fields_in(ada.get(CLICKS).text)
    seen = ada.post(CLICKS, data={**opened, "metadata.labels": "env: prod"})
    assert "labels - -&gt; env=prod" in seen.text


def test_a_topic_nobody_declared_has_no_form(ada: TestClient) -> None:
    answer = ada.get("/clusters/orders/topics/strangers/change")
    assert answer.status_code == 409
    assert "kedge topic adopt orders strangers" in answer.text


def test_who_may_not_declare_sees_no_link_and_no_form(house: House) -> None:
    operator = house.browser("olga", Binding("", Role.OPERATOR, "team:payments"))
    assert "/change" not in operator.get("/clusters/orders").text
    assert operator.get(CHANGE).status_code == 403


def test_the_overview_and_the_topic_lead_to_their_forms(ada: TestClient) -> None:
    assert f'href="{CHANGE}"' in ada.get("/clusters/orders").text


def test_a_hostile_value_is_text(house: House, ada: TestClient) -> None:
    status, text = sent(ada, CHANGE, **{"metadata.owner": '"><script>window.hacked=1</script>'})
    assert status in (200, 403, 422)
    assert "<script>window" not in text
