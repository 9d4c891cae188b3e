"""The port to a forge: one suite over GitHub and GitLab, on real HTTP, against fakes held to published documents."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.background.forges.forge import CommitStatus, FileChange, Forge, ForgeFault
from controlplane.background.forges.link import forge_of
from controlplane.background.git_sync.binding import GitBinding
from controlplane.runtime.egress import Egress
from tests.fakes.clouds.digitalocean_http import serving
from tests.fakes.forges import PROJECT, TOKEN, ForgeFake, ForgeWorld, Reply, served
from tests.fakes.github import GitHubFake
from tests.fakes.gitlab import GitLabFake
from tests.fakes.memory_forge import MemoryForge

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAKES: dict[str, type[ForgeFake]] = {"github": GitHubFake, "gitlab": GitLabFake}
GOOD = CommitStatus("success", "3 clusters in force", "kedge/teams", "https://kedge.example.org:8444/sources#teams")
CHANGE = FileChange(
    branch="kedge/rollback-orders-1-abcd",
    base="main",
    path="kafka/orders.yaml",
    text="the old spec\n",
    title="Roll orders back to generation 1",
    body="Opened by Kedge for ada.",
    author_name="ada",
    author_email="ada@example.org",
    is_new=False,
)


@dataclass
class Room:
    """A forge, what it holds, and the adapter that asks it."""

    kind: str
    world: ForgeWorld
    forge: Forge
    binding: GitBinding

    def fault(self, reply: Reply) -> ForgeFault:
        """What comes of that answer to a status."""
        self.world.next_replies = [reply]
        with pytest.raises(ForgeFault) as found:
            self.forge.post_status("ab" * 20, GOOD)
        assert TOKEN not in str(found.value)
        return found.value


@pytest.fixture(params=sorted(FAKES))
def wired(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """Those that are asked over HTTP."""
    with opened(request.param, monkeypatch) as room:
        yield room


@pytest.fixture(params=[*sorted(FAKES), "memory"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """All there are, the one that other tests use among them."""
    if request.param == "memory":
        forge = MemoryForge()
        yield Room("memory", forge.world, forge, bound("github"))
        return
    with opened(request.param, monkeypatch) as room:
        yield room


@contextmanager
def opened(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """A forge of that kind on a loopback port."""
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    with served(FAKES[kind]()) as world:
        made = bound(kind, world.url)
        assert made.forge is not None
        forge = forge_of(made, made.forge, clock=lambda: NOW, egress=Egress())
        try:
            yield Room(kind, world, forge, made)
        finally:
            forge.close()


def bound(
    kind: str, url: str = "", repository: str = f"https://forge.example.org/{PROJECT}.git", **more: Any
) -> GitBinding:
    """A binding whose repository is on that forge."""
    forge = {"kind": kind, "token_env": "BOT_TOKEN", "url": url, **more}
    return GitBinding.model_validate({"name": "teams", "repository": repository, "forge": forge})


def test_a_status_is_posted_and_read_back(room: Room) -> None:
    commit = room.world.commit({"a.yaml": "x"})
    assert room.forge.status(commit, "kedge/teams") is None
    room.forge.post_status(commit, GOOD)
    assert room.forge.status(commit, "kedge/teams") == GOOD
    assert room.forge.status(commit, "kedge/others") is None


def test_the_newest_status_of_a_context_counts_whatever_others_say(room: Room) -> None:
    commit = room.world.commit({"a.yaml": "x"})
    worse = replace(GOOD, state="failure", description="1 error in 1 file: a.yaml:7 KEDGE-SPEC-040")
    for status in (replace(GOOD, state="pending"), worse, replace(GOOD, context="build/unit")):
        room.forge.post_status(commit, status)
    assert room.forge.status(commit, "kedge/teams") == worse


def test_a_status_that_stays_pending_is_no_fault(room: Room) -> None:
    commit = room.world.commit({"a.yaml": "x"})
    waiting = replace(GOOD, state="pending", description="1 file waits for a second person")
    room.forge.post_status(commit, waiting)
    room.forge.post_status(commit, waiting)
    assert room.forge.status(commit, "kedge/teams") == waiting


def test_a_description_of_the_longest_length_is_taken(room: Room) -> None:
    commit = room.world.commit({"a.yaml": "x"})
    longest = replace(GOOD, description="ü" * room.forge.longest_description)
    room.forge.post_status(commit, longest)
    assert room.forge.status(commit, "kedge/teams") == longest
    with pytest.raises(ForgeFault, match="too long"):
        room.forge.post_status(commit, replace(longest, description=longest.description + "ü"))


def test_comments_are_added_and_read(room: Room) -> None:
    commit = room.world.commit({"a.yaml": "x"})
    assert room.forge.comments(commit) == []
    room.forge.comment(commit, "<!-- mark -->\n    a.yaml:7: wrong")
    assert room.forge.comments(commit) == ["<!-- mark -->\n    a.yaml:7: wrong"]


def test_a_file_is_read_as_of_a_branch_and_of_a_commit(room: Room) -> None:
    first = room.world.commit({"kafka/größe 1.yaml": "é\n" * 100})
    room.world.commit({"kafka/größe 1.yaml": "now"})
    assert room.forge.read("kafka/größe 1.yaml", "main") == "now"
    assert room.forge.read("kafka/größe 1.yaml", first) == "é\n" * 100
    assert room.forge.read("kafka/other.yaml", "main") is None


def test_a_request_is_one_commit_of_one_file_with_the_person_as_author(room: Room) -> None:
    base = room.world.commit({"kafka/orders.yaml": "new", "kafka/other.yaml": "other"})
    opened = room.forge.open_request(CHANGE)
    world = room.world
    commit = world.commits[world.branches[CHANGE.branch]]
    assert commit.files == {"kafka/orders.yaml": "the old spec\n", "kafka/other.yaml": "other"}
    assert (commit.parent, commit.author) == (base, ("ada", "ada@example.org"))
    assert commit.message == f"{CHANGE.title}\n\n{CHANGE.body}"
    assert world.branches["main"] == base
    assert [r["title"] for r in world.requests] == [CHANGE.title]
    assert (opened.number, opened.branch) == (1, CHANGE.branch)
    assert opened.url.startswith("https://")


def test_a_file_that_is_not_there_yet_is_made(room: Room) -> None:
    room.world.commit({"README.md": "specs"})
    room.forge.open_request(replace(CHANGE, path="kafka/new.yaml", is_new=True))
    assert (room.world.files_of(CHANGE.branch) or {})["kafka/new.yaml"] == "the old spec\n"


def test_asked_again_it_is_the_same_request(room: Room) -> None:
    room.world.commit({"kafka/orders.yaml": "new"})
    first = room.forge.open_request(CHANGE)
    room.world.commit({"kafka/other.yaml": "meanwhile"})
    assert room.forge.open_request(CHANGE) == first
    assert len(room.world.requests) == 1


def test_what_a_crash_left_of_a_request_is_finished(room: Room) -> None:
    room.world.commit({"kafka/orders.yaml": "new"})
    room.forge.open_request(CHANGE)
    commit = room.world.branches[CHANGE.branch]
    room.world.requests.clear()
    room.forge.open_request(CHANGE)
    assert len(room.world.requests) == 1
    assert room.world.branches[CHANGE.branch] == commit


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "AuthenticationFailed"),
        (403, "NotAllowed"),
        (404, "NotFound"),
        (409, "Refused"),
        (422, "Refused"),
        (503, "Unavailable"),
    ],
)
def test_each_refusal_has_its_reason_and_what_the_forge_said(wired: Room, status: int, reason: str) -> None:
    fault = wired.fault(Reply(status, {"message": "no\nsuch luck"}))
    assert fault.reason == reason
    assert f"it answered {status}: no such luck" in fault.why
    assert PROJECT in fault.where
    assert fault.next_step


def test_a_forge_that_wants_to_be_left_alone_says_how_long(wired: Room) -> None:
    reset = str(int(NOW.timestamp()) + 90)
    told = [
        wired.fault(Reply(429, {}, {"Retry-After": "40"})),
        wired.fault(Reply(403, {}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset})),
        wired.fault(Reply(429, {}, {"RateLimit-Remaining": "0", "RateLimit-Reset": reset})),
    ]
    assert [(fault.reason, fault.wait_s) for fault in told] == [
        ("RateLimited", 40.0),
        ("RateLimited", 90.0),
        ("RateLimited", 90.0),
    ]


def test_the_token_is_read_anew_and_goes_to_nobody_else(wired: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = wired.world.commit({"a.yaml": "x"})
    wired.world.token = "rotated"
    with pytest.raises(ForgeFault, match="Renew the token"):
        wired.forge.status(commit, "kedge/teams")
    monkeypatch.setenv("BOT_TOKEN", "rotated")
    wired.forge.status(commit, "kedge/teams")
    monkeypatch.delenv("BOT_TOKEN")
    with pytest.raises(ForgeFault) as found:
        wired.forge.status(commit, "kedge/teams")
    assert found.value.reason == "CredentialMissing"
    heard: list[str] = []

    def elsewhere(_: str, path: str, __: object, ___: bytes) -> tuple[int, dict[str, str], object]:
        heard.append(path)
        return 200, {}, []

    monkeypatch.setenv("BOT_TOKEN", "rotated")
    with serving(elsewhere) as port:
        fault = wired.fault(Reply(302, {}, {"Location": f"http://127.0.0.1:{port}/stolen"}))
    assert fault.reason == "Refused"
    assert heard == []


def test_an_answer_that_is_no_answer_is_a_fault(wired: Room) -> None:
    wired.world.commit({"a.yaml": "x"})
    wired.world.next_replies = [Reply(200, ["not", "a", "file"])]
    with pytest.raises(ForgeFault, match="lacks what the API promises"):
        wired.forge.read("a.yaml", "main")


def test_a_forge_that_is_away_and_one_that_was_closed_are_faults(wired: Room) -> None:
    assert wired.binding.forge is not None
    nowhere = wired.binding.forge.model_copy(update={"url": "http://127.0.0.1:9"})
    forge = forge_of(wired.binding, nowhere, clock=lambda: NOW, egress=Egress())
    with pytest.raises(ForgeFault) as found:
        forge.comments("ab" * 20)
    assert found.value.reason == "Unreachable"
    forge.close()
    with pytest.raises(ForgeFault):
        forge.comments("ab" * 20)


def test_the_fakes_are_held_to_the_documents() -> None:
    fake = GitHubFake()
    with pytest.raises(AssertionError, match="state"):
        fake.told("POST /repos/{owner}/{repo}/pulls", 201, state="asleep")
    assert fake.wrong("POST /repos/{owner}/{repo}/pulls", {"head": "x", "base": "main", "colour": "red"})
    assert GitLabFake().wrong("POST /projects/{id}/merge_requests", {"source_branch": "x", "target_branch": "main"})


@pytest.mark.parametrize(
    ("repository", "kind", "api", "project"),
    [
        ("https://github.com/platform/specs.git", "github", "https://api.github.com", "platform/specs"),
        ("git@github.com:platform/specs.git", "github", "https://api.github.com", "platform/specs"),
        ("https://git.example.com/platform/specs", "github", "https://git.example.com/api/v3", "platform/specs"),
        ("https://git.example.com:8443/a/b/c.git", "gitlab", "https://git.example.com:8443/api/v4", "a/b/c"),
        ("ssh://git@git.example.com:2222/a/b.git", "gitlab", "https://git.example.com/api/v4", "a/b"),
    ],
)
def test_where_a_forge_is_follows_from_the_repository(repository: str, kind: str, api: str, project: str) -> None:
    ssh = {} if repository.startswith("https") else {"ssh_key_file": "/k", "known_hosts_file": "/h"}
    forge = {"kind": kind, "token_env": "BOT_TOKEN"}
    made = GitBinding.model_validate({"name": "teams", "repository": repository, "forge": forge, **ssh})
    assert made.forge is not None
    address = made.forge.require_address(repository)
    assert (address.api, address.project) == (api, project)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"token_env": ""}, "a forge needs token_env or token_file"),
        ({"token_env": "ghp_secretsecret"}, "never the token itself"),
        ({"url": "http://forge.example.org"}, "plain http"),
        ({"url": "https://bot:secret@forge.example.org"}, "not an address"),
        ({"project": "specs"}, "not a repository of a forge"),
        ({"project": "a/b/c"}, "not a repository of a forge"),
        ({"project": "a/../b"}, "not a repository of a forge"),
        ({"email_domain": "a b"}, "not a domain"),
    ],
)
def test_a_forge_that_makes_no_sense_is_refused_at_the_start(more: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says) as found:
        bound("github", **more)
    assert "secret@" not in str(found.value).partition("[type=")[0]


def test_a_local_repository_names_its_forge() -> None:
    with pytest.raises(ValueError, match="names no forge"):
        bound("github", repository="/srv/specs.git")
    bound("github", url="https://forge.example.org/api/v3", repository="/srv/specs.git", project=PROJECT)
