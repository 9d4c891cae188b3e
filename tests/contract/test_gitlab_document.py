"""The GitLab fake, and with it the adapter, is held to GitLab's published OpenAPI document, by facts taken from it."""

from typing import Any

import pytest

from tests.fakes.forges import PROJECT, TOKEN
from tests.fakes.gitlab import GitLabFake
from tests.fakes.gitlab_document import ANSWERS, BODIES
from tests.fakes.gitlab_published import faults_of_body, faults_of_query, published, unknown_fields

COMMITS = "/projects/{id}/repository/commits"
STATUSES = f"GET {COMMITS}/{{sha}}/statuses"
POST_STATUS = "POST /projects/{id}/statuses/{sha}"
COMMIT = f"POST {COMMITS}"
ACTION = {"action": "create", "file_path": "a.yaml", "content": "x"}
READ = {
    STATUSES: {"id", "name", "status", "description", "target_url"},
    f"GET {COMMITS}/{{sha}}/comments": {"note"},
    "GET /projects/{id}/merge_requests": {"iid", "web_url"},
    "POST /projects/{id}/merge_requests": {"iid", "web_url"},
}
"""Fields of answers that the adapter reads."""


def test_the_facts_say_which_copy_of_the_document_they_are_from() -> None:
    source = published()["from"]
    assert source["title"] == "GitLab API v4, Swagger 2.0"
    assert "CC BY-SA 4.0" in source["licence"]
    assert (len(source["commit"]), len(source["sha256"])) == (40, 64)
    assert source["repository"]
    assert source["path"].endswith(".yaml")


def test_every_call_the_adapter_makes_is_in_the_document() -> None:
    assert set(published()["calls"]) == {name.rpartition(" ")[0] for name in ANSWERS} | set(BODIES)


def test_no_words_of_the_document_are_kept() -> None:
    def words(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part] if " " in part else []
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return [word for one in inner for word in words(one)]

    assert not words(published()["calls"])


@pytest.mark.parametrize("call", READ)
def test_what_is_read_of_an_answer_is_in_it(call: str) -> None:
    assert not unknown_fields(call, dict.fromkeys(READ[call]))


def test_a_query_is_held_to_its_names_types_and_words() -> None:
    assert not faults_of_query(STATUSES, {"name": "kedge/teams", "ref": "main", "per_page": "100"})
    assert faults_of_query(STATUSES, {"context": "kedge/teams"}) == ["context: no such parameter"]
    assert faults_of_query(STATUSES, {"per_page": "many"}) == ["per_page: 'many' is not an integer"]
    assert faults_of_query("GET /projects/{id}/merge_requests", {"state": "open"})
    assert faults_of_query("GET /projects/{id}/repository/files/{file_path}", {}) == ["ref is missing"]


def test_a_body_is_held_to_its_names_types_and_what_is_needed() -> None:
    well = {"branch": "b", "commit_message": "m", "actions": [ACTION]}
    assert not faults_of_body(COMMIT, well)
    assert faults_of_body(COMMIT, {"branch": "b", "commit_message": "m"}) == ["actions is missing"]
    assert faults_of_body(COMMIT, {**well, "autor_name": "ada"}) == ["autor_name: no such field"]
    assert faults_of_body(COMMIT, {**well, "actions": [{**ACTION, "action": "make"}]})
    assert faults_of_body(COMMIT, {**well, "actions": [{"action": "create"}]})
    assert faults_of_body(POST_STATUS, {"state": "failure"}), "that is GitHub's word"


def test_the_fake_refuses_what_the_document_does_not_have() -> None:
    fake = GitLabFake()
    commit = fake.world.commit({"a.yaml": "x"})
    path = f"/api/v4/projects/{PROJECT.replace('/', '%2F')}/repository/commits/{commit}/statuses"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert fake.answer("GET", f"{path}?name=x&ref=main", headers, b"")[0] == 200
    assert fake.answer("GET", f"{path}?name=x&ref=main&newest=true", headers, b"")[0] == 400
    assert fake.wrong(POST_STATUS, {"state": "success", "sha": commit}), "the commit is in the path"
