"""The port to a repository, with the real `git` on local repositories and over HTTP: also hostile ones."""

import base64
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.child import GitLimits
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.faults import SourceFault, Stopped
from controlplane.runtime.egress import Egress
from providers.process import wait_until
from tests.contract.git_repositories import Upstream, Web, git
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path)


def a_clone(
    upstream: Upstream,
    *,
    limits: GitLimits | None = None,
    program: str = "git",
    egress: Egress | None = None,
    **changes: object,
) -> Clone:
    fields = {"name": "teams", "repository": str(upstream.bare), **changes}
    return Clone(
        GitBinding(**fields),
        upstream.bare.parent / "home" / "git" / "teams",
        local_paths=(upstream.bare.parent,),
        stop=threading.Event(),
        egress=egress or Egress(),
        limits=limits,
        program=program,
    )


def files(clone: Clone, commit: str) -> dict[str, bytes]:
    entries = clone.entries(commit)
    texts = clone.contents(e.blob for e in entries if e.mode == "100644")
    return {e.path: texts[e.blob] for e in entries if e.blob in texts}


# --- reading ----------------------------------------------------------------------------------------------------


def test_the_tip_and_its_files_are_read_without_a_working_tree(upstream: Upstream) -> None:
    commit = upstream.push({"kafka/orders.yaml": ORDERS, "README.md": "# specs"})
    clone = a_clone(upstream)
    tip = clone.tip(None)
    assert (tip.commit, tip.author, tip.descends) == (commit, "Ada <ada@example.org>", True)
    assert files(clone, commit) == {"README.md": b"# specs", "kafka/orders.yaml": ORDERS.encode()}
    home = upstream.bare.parent / "home"
    assert not list(home.rglob("orders.yaml"))
    assert not [f for f in home.rglob("*") if f.parent.name == "hooks"]


def test_only_the_folder_of_the_binding_is_read(upstream: Upstream) -> None:
    commit = upstream.push({"a/orders.yaml": ORDERS, "ab/orders.yaml": "x", "b/orders.yaml": "y"})
    clone = a_clone(upstream, path="a")
    clone.tip(None)
    assert list(files(clone, commit)) == ["a/orders.yaml"]
    assert a_clone(upstream, path="nowhere").entries(commit) == []


@pytest.mark.parametrize("name", ["..", ".", "/etc", ".git"])
def test_a_tree_with_a_name_that_leads_out_of_it_is_refused_before_it_is_read(upstream: Upstream, name: str) -> None:
    """No git writes such a tree by itself; one that checks what it fetches does not take it."""
    upstream.push({"orders.yaml": ORDERS})
    inner = upstream.git("rev-parse", "HEAD^{tree}")
    raw = upstream.work / "raw"
    raw.write_bytes(b"40000 " + name.encode() + b"\0" + bytes.fromhex(inner))
    tree = upstream.git("hash-object", "-t", "tree", "-w", "--literally", str(raw))
    upstream.git("reset", "--quiet", "--soft", upstream.git("commit-tree", tree, "-m", "out of here"))
    upstream.force_push()
    with pytest.raises(SourceFault) as refused:
        a_clone(upstream).tip(None)
    assert (refused.value.reason, "contains" in refused.value.message) == ("Refused", True)


def test_a_branch_that_stands_still_is_not_fetched_again(upstream: Upstream) -> None:
    upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream)
    clone.tip(None)
    packs = upstream.bare.parent / "home" / "git" / "teams" / "clone.git" / "objects" / "pack"
    before = sorted(packs.iterdir())
    clone.tip(None)
    assert sorted(packs.iterdir()) == before


def test_names_and_bytes_of_files_may_be_anything(upstream: Upstream) -> None:
    upstream.write("spaced name.yaml", "a")
    upstream.write("-rf.yaml", "b")
    upstream.write("new\nline.yaml", "c")
    upstream.write("bytes.yaml", b"\xff\xfe\x00 no text")
    with open(os.fsencode(upstream.work) + b"/bad\xff.yaml", "w") as file:
        file.write("d")
    commit = upstream.commit()
    clone = a_clone(upstream)
    clone.tip(None)
    found = files(clone, commit)
    assert found["bytes.yaml"] == b"\xff\xfe\x00 no text"
    assert found.keys() == {"spaced name.yaml", "-rf.yaml", "new\nline.yaml", "bytes.yaml", "bad\\xff.yaml"}


# --- history ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [1, 3, 80])
def test_history_is_deepened_to_the_commit_applied_last(upstream: Upstream, commits: int) -> None:
    applied = upstream.push({"orders.yaml": ORDERS})
    for number in range(commits):
        upstream.git("commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
    upstream.force_push()
    assert a_clone(upstream).tip(applied).descends


def test_a_force_push_is_told_apart_from_a_change(upstream: Upstream) -> None:
    upstream.push({"orders.yaml": ORDERS})
    applied = upstream.push({"orders.yaml": "second"})
    clone = a_clone(upstream)
    assert clone.tip(applied).descends
    upstream.git("reset", "--quiet", "--hard", "HEAD~1")
    back = upstream.force_push()
    tip = clone.tip(applied)
    assert (tip.commit, tip.descends) == (back, False)
    another = upstream.push({"orders.yaml": "third"})
    assert (clone.tip(applied).commit, clone.tip(applied).descends) == (another, False)


def test_a_history_without_any_common_commit_does_not_descend(upstream: Upstream) -> None:
    applied = upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream)
    clone.tip(None)
    upstream.git("checkout", "--quiet", "--orphan", "fresh")
    upstream.push({"orders.yaml": "new world"})
    assert not clone.tip(applied).descends


def test_a_commit_that_is_looked_for_too_far_back_counts_as_lost(upstream: Upstream) -> None:
    applied = upstream.push({"orders.yaml": ORDERS})
    for number in range(70):
        upstream.git("commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
    upstream.force_push()
    assert not a_clone(upstream, limits=GitLimits(commits=10)).tip(applied).descends


def test_a_clone_that_was_deleted_is_made_anew(upstream: Upstream) -> None:
    applied = upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream)
    clone.tip(None)
    git_dir = upstream.bare.parent / "home" / "git" / "teams" / "clone.git"
    (git_dir / "HEAD").unlink()
    assert clone.tip(applied).commit == applied
    assert files(clone, applied) == {"orders.yaml": ORDERS.encode()}


# --- hostile repositories ---------------------------------------------------------------------------------------


def test_links_and_submodules_are_seen_as_what_they_are_and_not_followed(upstream: Upstream, tmp_path: Path) -> None:
    other = Upstream(tmp_path / "other")
    other.push({"secret.yaml": "top"})
    (upstream.work / "link.yaml").symlink_to("/etc/passwd")
    (upstream.work / "folder").symlink_to("..")
    upstream.git("submodule", "--quiet", "add", str(other.bare), "vendored")
    commit = upstream.commit()
    clone = a_clone(upstream)
    clone.tip(None)
    modes = {e.path: e.mode for e in clone.entries(commit)}
    assert modes == {".gitmodules": "100644", "folder": "120000", "link.yaml": "120000", "vendored": "160000"}
    assert not (tmp_path / "home" / "git" / "teams" / "clone.git" / "modules").exists()


def test_nothing_of_the_repository_is_ever_run(upstream: Upstream, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("post-checkout", "reference-transaction", "post-update", "pre-receive", "update"):
        hook = upstream.bare / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    git("-C", str(upstream.work), "config", "core.hooksPath", "/nonexistent")
    upstream.write(".gitattributes", "*.yaml filter=evil\n")
    upstream.write("orders.yaml", ORDERS)
    upstream.git("add", "--all")
    upstream.git("commit", "--quiet", "--message", "evil")
    pushed = upstream.git("rev-parse", "HEAD")
    git(
        "-C", str(upstream.bare), "-c", "core.hooksPath=/dev/null", "fetch", "--quiet", str(upstream.work), "+HEAD:main"
    )
    clone = a_clone(upstream)
    assert clone.tip(None).commit == pushed
    assert files(clone, pushed)["orders.yaml"] == ORDERS.encode()
    assert not ran.exists()


def test_configuration_of_this_machine_is_not_believed(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text(f'[url "{tmp_path}/elsewhere"]\n\tinsteadOf = {upstream.bare}\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    commit = upstream.push({"orders.yaml": ORDERS})
    assert a_clone(upstream).tip(None).commit == commit


def test_a_path_that_leads_out_of_the_listed_folders_is_refused_at_each_look(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.push({"orders.yaml": ORDERS})
    listed = tmp_path / "listed"
    listed.mkdir()
    (listed / "specs.git").symlink_to(upstream.bare)
    binding = GitBinding(name="teams", repository=str(listed / "specs.git"))
    clone = Clone(binding, tmp_path / "c", local_paths=(listed,), stop=threading.Event(), egress=Egress())
    with pytest.raises(SourceFault, match=r"allow\.git_paths") as fault:
        clone.tip(None)
    assert fault.value.reason == "NotAllowed"


# --- limits -----------------------------------------------------------------------------------------------------


def test_a_clone_that_grows_too_large_is_ended_and_forgotten(upstream: Upstream, tmp_path: Path) -> None:
    upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream, limits=GitLimits(clone_bytes=1_000_000))
    clone.tip(None)
    slow = _program(tmp_path, 'case "$*" in *fetch*) head -c 3000000 /dev/zero >"$HOME/junk"; exec sleep 60;; esac')
    upstream.push({"orders.yaml": "bigger"})
    clone = a_clone(upstream, limits=GitLimits(clone_bytes=1_000_000), program=slow)
    with pytest.raises(SourceFault) as fault:
        clone.tip(None)
    assert fault.value.reason == "TooLarge"
    junk = upstream.bare.parent / "home" / "git" / "teams" / "junk"
    assert junk.exists()
    assert a_clone(upstream, limits=GitLimits(clone_bytes=1_000_000)).tip(None).descends
    assert not junk.exists()


def test_too_many_files_are_refused_with_what_to_do(upstream: Upstream) -> None:
    commit = upstream.push({f"{number}.yaml": "x" for number in range(5)})
    clone = a_clone(upstream, limits=GitLimits(files=4))
    clone.tip(None)
    with pytest.raises(SourceFault, match="5 files lie under") as fault:
        clone.entries(commit)
    assert "path" in fault.value.next_step


def test_a_git_that_never_ends_is_ended_with_its_children(upstream: Upstream, tmp_path: Path) -> None:
    slow = _program(tmp_path, f'case "$*" in *ls-remote*) sleep 300 & echo $! >{tmp_path}/child; wait;; esac')
    with pytest.raises(SourceFault, match=r"was not done after 0\.5 s \(ls-remote\)") as fault:
        a_clone(upstream, limits=GitLimits(seconds=0.5), program=slow).tip(None)
    assert fault.value.reason == "TimedOut"
    pid = int((tmp_path / "child").read_text())
    # A kill is sent at once; when the system has done it is the system's to say.
    assert wait_until(lambda: not _is_running(pid), timeout_s=5)


def test_a_stop_ends_git_at_once(upstream: Upstream, tmp_path: Path) -> None:
    stop = threading.Event()
    slow = _program(tmp_path, 'case "$*" in *ls-remote*) exec sleep 300;; esac')
    binding = GitBinding(name="teams", repository=str(upstream.bare))
    clone = Clone(binding, tmp_path / "c", local_paths=(tmp_path,), stop=stop, egress=Egress(), program=slow)
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Stopped):
        clone.tip(None)


def test_a_machine_without_git_is_told_so(upstream: Upstream) -> None:
    with pytest.raises(SourceFault, match="cannot be run") as fault:
        a_clone(upstream, program="no-such-git").tip(None)
    assert fault.value.reason == "GitMissing"


# --- what is not there ------------------------------------------------------------------------------------------


def test_a_branch_that_is_gone_and_an_empty_repository_are_told_alike(upstream: Upstream) -> None:
    clone = a_clone(upstream)
    with pytest.raises(SourceFault) as empty:
        clone.tip(None)
    upstream.push({"orders.yaml": ORDERS})
    clone.tip(None)
    git("-C", str(upstream.bare), "update-ref", "-d", "refs/heads/main")
    with pytest.raises(SourceFault) as gone:
        clone.tip(None)
    assert (empty.value.reason, gone.value.reason) == ("BranchMissing", "BranchMissing")


def test_a_repository_that_is_gone_is_unreachable(upstream: Upstream) -> None:
    upstream.push({"orders.yaml": ORDERS})
    clone = a_clone(upstream)
    clone.tip(None)
    upstream.bare.rename(upstream.bare.with_name("moved.git"))
    with pytest.raises(SourceFault) as fault:
        clone.tip(None)
    assert fault.value.reason == "Unreachable"


# --- over HTTP --------------------------------------------------------------------------------------------------


@pytest.fixture
def web(upstream: Upstream) -> Iterator[Web]:
    with Web(upstream.bare.parent).serving() as web:
        yield web


def test_a_repository_is_read_over_http_with_a_token_by_reference(
    upstream: Upstream, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = upstream.push({"orders.yaml": ORDERS})
    upstream.push({"orders.yaml": "second"})
    commit = upstream.push({"orders.yaml": "third"})
    web.authorization = f"Basic {base64.b64encode(b'bot:canary-token').decode()}"
    monkeypatch.setenv("TEAMS_TOKEN", "canary-token")
    clone = a_clone(upstream, repository=f"{web.url}/specs.git", token_env="TEAMS_TOKEN", username="bot")
    tip = clone.tip(applied)
    assert (tip.commit, tip.descends) == (commit, True)
    assert files(clone, commit) == {"orders.yaml": b"third"}
    kept = b"".join(f.read_bytes() for f in (upstream.bare.parent / "home").rglob("*") if f.is_file())
    assert b"canary-token" not in kept


def test_a_wrong_token_is_told_and_not_shown(upstream: Upstream, web: Web, tmp_path: Path) -> None:
    upstream.push({"orders.yaml": ORDERS})
    web.authorization = "Basic something-else"
    (tmp_path / "token").write_text("canary-token\n")
    clone = a_clone(upstream, repository=f"{web.url}/specs.git", token_file=tmp_path / "token")
    with pytest.raises(SourceFault) as fault:
        clone.tip(None)
    assert fault.value.reason == "AuthenticationFailed"
    assert "canary" not in fault.value.message


def test_a_token_that_is_not_there_is_asked_for_before_anybody_is_called(upstream: Upstream, web: Web) -> None:
    clone = a_clone(upstream, repository=f"{web.url}/specs.git", token_env="NOT_SET_ANYWHERE")
    with pytest.raises(SourceFault, match="NOT_SET_ANYWHERE") as fault:
        clone.tip(None)
    assert (fault.value.reason, web.asked) == ("CredentialMissing", [])


def test_a_redirect_is_not_followed(upstream: Upstream, web: Web, tmp_path: Path) -> None:
    upstream.push({"orders.yaml": ORDERS})
    with Web(tmp_path).serving() as elsewhere:
        web.redirect_to = elsewhere.url
        with pytest.raises(SourceFault):
            a_clone(upstream, repository=f"{web.url}/specs.git").tip(None)
        assert elsewhere.asked == []


def _program(folder: Path, body: str) -> str:
    """A `git` that does something else first."""
    program = folder / "slow-git"
    program.write_text(f'#!/bin/sh\n{body}\nexec git "$@"\n')
    program.chmod(0o700)
    return str(program)


def _is_running(pid: int) -> bool:
    """A zombie is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# --- over ssh ---------------------------------------------------------------------------------------------------


def test_ssh_is_called_with_one_key_one_host_key_file_and_nobody_to_ask(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = upstream.push({"orders.yaml": ORDERS})
    programs = tmp_path / "bin dir"
    programs.mkdir()
    # Stands for the program `ssh`: notes how it was called, and runs on this machine what it was to run over there.
    ssh = programs / "ssh"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/called\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    key, known = tmp_path / "a $(touch key)", tmp_path / "known hosts"
    for file in (key, known):
        file.touch()
    clone = a_clone(
        upstream,
        repository=f"ssh://git@git.example.org:2222{upstream.bare}",
        ssh_key_file=key,
        known_hosts_file=known,
        egress=Egress(resolve=lambda host, port: ("8.8.4.4",)),  # judged alone: nobody is called
    )
    assert clone.tip(None).commit == commit
    called = (tmp_path / "called").read_text().splitlines()
    assert called[:4] == ["-F", "/dev/null", "-i", str(key)]
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", f'UserKnownHostsFile="{known}"'} <= set(called)
    assert "HostName=8.8.4.4" in called, "the address that was judged"
    assert called[-2:] == ["git@git.example.org", f"git-upload-pack '{upstream.bare}'"]
