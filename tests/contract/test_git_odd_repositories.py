"""Repositories of an unusual kind, or of somebody else, by the real `git`: read, or told with what to do about it."""

import os
import pwd
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.child import GitAnswer
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.git_faults import fault_of
from controlplane.runtime.egress import Egress
from tests.contract.git_repositories import Upstream, Web, git
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path, ids="sha256")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with Web(tmp_path).serving() as served:
        yield served


def a_clone(upstream: Upstream, *, program: str = "git", **changes: object) -> Clone:
    fields = {"name": "teams", "repository": str(upstream.bare), **changes}
    return Clone(
        GitBinding(**fields),
        upstream.bare.parent / "home" / "git" / "teams",
        local_paths=(upstream.bare.parent,),
        stop=threading.Event(),
        egress=Egress(),
        program=program,
    )


@pytest.mark.parametrize("way", ["by its path", "over http"])
def test_case_09_a_repository_of_sha256_is_read_and_followed(upstream: Upstream, web: Web, way: str) -> None:
    first = upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream, **({"repository": f"{web.url}/specs.git"} if way == "over http" else {}))
    assert (len(first), clone.tip(None).commit) == (64, first)
    (entry,) = clone.entries(first)
    assert clone.contents([entry.blob]) == {entry.blob: ORDERS.encode()}
    for n in range(3):
        upstream.push({"orders.yaml": f"{ORDERS}# {n}\n"})
    last = upstream.push({"more.yaml": ORDERS})
    tip = clone.tip(first)
    assert (tip.commit, tip.descends, len(clone.entries(last))) == (last, True, 2)


@pytest.mark.parametrize(("before", "after"), [("sha1", "sha256"), ("sha256", "sha1")])
def test_a_repository_that_was_made_anew_with_the_other_kind_of_ids_is_cloned_anew(
    tmp_path: Path, before: str, after: str
) -> None:
    upstream = Upstream(tmp_path, ids=before)
    known = upstream.push({"orders.yaml": ORDERS})
    assert a_clone(upstream).tip(None).commit == known
    for folder in (upstream.bare, upstream.work):
        shutil.rmtree(folder)
    upstream = Upstream(tmp_path, ids=after)
    commit = upstream.push({"orders.yaml": ORDERS})
    tip = a_clone(upstream).tip(known)
    # A history with other ids does not descend from the one that was applied: a person is asked, as after a force-push.
    assert (tip.commit, tip.descends) == (commit, False)
    assert a_clone(upstream).tip(commit).descends


def _as_of_another_user(folder: Path) -> str:
    """A `git` that takes every repository for somebody else's, in its own words: git's switch for its own tests."""
    program = folder / "another-user-git"
    program.write_text('#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git "$@"\n')
    program.chmod(0o700)
    return str(program)


def test_case_10_a_repository_of_another_user_is_told_with_whose_it_is_and_what_to_do(tmp_path: Path) -> None:
    upstream = Upstream(tmp_path)
    upstream.push({"orders.yaml": ORDERS})
    mine = pwd.getpwuid(os.geteuid()).pw_name
    with pytest.raises(SourceFault) as fault:
        a_clone(upstream, program=_as_of_another_user(tmp_path)).tip(None)
    assert fault.value.reason == "Refused"
    assert "dubious ownership" in fault.value.message
    then = fault.value.next_step
    assert f"The folder belongs to {mine}, the server runs as {mine}" in then
    assert f"chown -R {mine} {upstream.bare}" in then
    assert "`safe.directory` of git has no effect" in then
    assert "credentials" not in then


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user; the words are tested above")
def test_case_10_the_owner_is_named_as_the_folder_has_it(tmp_path: Path) -> None:
    upstream = Upstream(tmp_path)
    upstream.push({"orders.yaml": ORDERS})
    for root, folders, names in os.walk(upstream.bare):
        for name in (".", *folders, *names):
            os.chown(Path(root) / name, 54_321, 54_321)
    with pytest.raises(SourceFault) as fault:
        a_clone(upstream).tip(None)
    assert fault.value.reason == "Refused"
    assert "The folder belongs to 54321, the server runs as root" in fault.value.next_step
    for root, folders, names in os.walk(upstream.bare):
        for name in (".", *folders, *names):
            os.chown(Path(root) / name, 0, 0)
    assert a_clone(upstream).tip(None).commit == git("-C", str(upstream.bare), "rev-parse", "main")


def test_case_15_what_links_lead_to_is_told_by_the_commit_itself(tmp_path: Path) -> None:
    upstream = Upstream(tmp_path)
    upstream.write("docs/README.md", "read me")
    upstream.write("kafka/orders.yaml", ORDERS)
    links = {
        "README.md": "../docs/README.md",
        "again": "README.md",
        "folder": "../docs",
        "gone": "nowhere",
        "loop": "loop",
        "out": "/etc/passwd",
        "beyond": "../../x",
        "notdir": "orders.yaml/x",
        "two words": "orders.yaml",
        "naïve": "../docs",
        "new\nline": "orders.yaml",
    }
    for name, target in links.items():
        (upstream.work / "kafka" / name).symlink_to(target)
    commit = upstream.commit()
    clone = a_clone(upstream, path="kafka")
    clone.tip(None)
    told = {e.path.removeprefix("kafka/"): e.leads_to for e in clone.entries(commit)}
    ends = {"README.md": "blob", "again": "blob", "folder": "tree", "two words": "blob", "naïve": "tree"}
    assert told == {**dict.fromkeys([*links, "orders.yaml"], ""), **ends}


HTTPS = GitBinding(name="teams", repository="https://git.example.com/proxy/certificate.git", token_env="TEAMS_TOKEN")
BARE = GitBinding(name="teams", repository="https://git.example.com/specs.git")
SSH = GitBinding(
    name="teams",
    repository="ssh://git@git.example.com/specs.git",
    ssh_key_file=Path("/keys/kedge"),
    known_hosts_file=Path("/keys/known"),
)
FILE = GitBinding(name="teams", repository="/srv/specs.git")
AT = "unable to access 'https://git.example.com/proxy/certificate.git/'"


@pytest.mark.parametrize(
    ("binding", "said", "reason", "then"),
    [
        (HTTPS, f"fatal: {AT}: The requested URL returned error: 403", "AuthenticationFailed", "TEAMS_TOKEN"),
        (HTTPS, "fatal: Authentication failed for 'https://git.example.com/'", "AuthenticationFailed", "TEAMS_TOKEN"),
        (BARE, "fatal: could not read Username for 'https://git.example.com'", "AuthenticationFailed", "no credential"),
        (SSH, "git@git.example.com: Permission denied (publickey).", "AuthenticationFailed", "/keys/kedge"),
        (SSH, "Host key verification failed.", "HostKeyRefused", "/keys/known"),
        (HTTPS, f"fatal: {AT}: Failed to connect to git.example.com port 443", "Unreachable", "is the host up"),
        (HTTPS, f"fatal: {AT}: SSL certificate problem: certificate has expired", "Unreachable", "SSL_CERT_FILE"),
        (HTTPS, f"fatal: {AT}: The requested URL returned error: 503", "Unreachable", "busy or in trouble"),
        (HTTPS, f"fatal: {AT}: The requested URL returned error: 301", "Unreachable", "new address"),
        (HTTPS, f"fatal: {AT}: CONNECT tunnel failed, Proxy error: 407", "Unreachable", "proxy"),
        (HTTPS, "fatal: repository 'https://git.example.com/x/' not found", "Unreachable", "Forges answer so"),
        (FILE, "fatal: '/srv/specs.git' does not appear to be a git repository", "Unreachable", "/srv/specs.git"),
        (
            FILE,
            "fatal: unable to open '/srv/specs.git/HEAD': Permission denied",
            "Unreachable",
            "may the server's user",
        ),
        (HTTPS, "fatal: write error: No space left on device", "Unreachable", "full"),
        (HTTPS, "error: object 1234: badTree: cannot be parsed", "Refused", "git fsck"),
        (HTTPS, "fatal: something git has never said before", "Unreachable", "the address and the credentials"),
    ],
)
def test_the_next_step_goes_by_what_git_said_and_not_by_words_of_an_address(
    binding: GitBinding, said: str, reason: str, then: str
) -> None:
    fault = fault_of(GitAnswer(128, b"", f"{said}\nfatal: Could not read from remote repository.\n"), binding, ())
    assert fault.reason == reason
    assert then in fault.next_step
    assert fault.next_step.endswith("It is tried again; clusters stay as they are.")


def test_what_the_other_side_says_of_itself_is_no_word_of_git() -> None:
    said = "remote: Host key verification failed.\nfatal: the remote end hung up unexpectedly\n"
    fault = fault_of(GitAnswer(128, b"", said), HTTPS, ())
    assert (fault.reason, fault.message) == ("Unreachable", "git: fatal: the remote end hung up unexpectedly")
