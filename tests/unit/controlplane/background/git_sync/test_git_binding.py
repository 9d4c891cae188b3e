"""Bindings in the settings: what is accepted, what is refused and why, and that no secret is ever a value."""

import os
import shlex
from pathlib import Path

import pytest

from controlplane.background.git_sync.environment import CONFIG, fetch_environment
from controlplane.background.git_sync.faults import SourceFault
from controlplane.runtime.egress import Allowed, Egress
from controlplane.server.settings import ServerSettingsRefused, load_settings
from tests.unit.controlplane.background.git_sync.git_house import binding


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith("KEDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("repository", "transport"),
    [
        ("https://git.example.org/teams/specs.git", "https"),
        ("http://127.0.0.1:8080/specs.git", "http"),
        ("/srv/specs.git", "file"),
    ],
)
def test_a_repository_says_how_it_is_reached(repository: str, transport: str) -> None:
    assert binding(repository=repository).transport == transport


@pytest.mark.parametrize("repository", ["ssh://git@git.example.org:2222/specs.git", "git@git.example.org:teams/specs"])
def test_ssh_needs_a_key_and_the_key_of_the_host(repository: str, tmp_path: Path) -> None:
    files = {"ssh_key_file": tmp_path / "key", "known_hosts_file": tmp_path / "known"}
    assert binding(repository=repository, **files).transport == "ssh"
    with pytest.raises(ValueError, match="known_hosts_file"):
        binding(repository=repository, ssh_key_file=tmp_path / "key")


@pytest.mark.parametrize(
    ("repository", "why"),
    [
        ("https://user:secret@git.example.org/specs.git", "no user, password or token"),
        ("https://token@git.example.org/specs.git", "no user, password or token"),
        ("http://git.example.org/specs.git", "loopback"),
        ("ext::sh -c touch% /tmp/x", "is not a repository"),
        ("file:///srv/specs.git", "is not a repository"),
        ("--upload-pack=touch /tmp/x", "is not a repository"),
        ("-oProxyCommand=x@host:path", "is not a repository"),
        ("git@-oProxyCommand=x:path", "is not a repository"),
        ("git@host:-path", "is not a repository"),
        ("ssh://-oProxyCommand=x/path", "is not a repository"),
        ("https://git.example.org/specs.git?x=1", "ends with its path"),
        ("https://git.example.org/a b", "ends with its path"),
        ("specs.git", "is not a repository"),
        ("", "is not a repository"),
    ],
)
def test_every_other_form_of_a_repository_is_refused(repository: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        binding(repository=repository)
    assert "secret" not in str(refused.value).replace("input_value", "").split("[type=")[0]


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "main.lock", "a//b", "a b", "main~1", "/main", "@{-1}", "a:b"])
def test_a_branch_is_a_plain_name(branch: str) -> None:
    with pytest.raises(ValueError, match="not a plain name of a branch"):
        binding(branch=branch)


@pytest.mark.parametrize("path", ["..", "a/../b", "a//b", ".git", "a/.hidden", ":(top)", "-x", "a\nb"])
def test_a_path_stays_inside(path: str) -> None:
    with pytest.raises(ValueError, match="not a folder of a repository"):
        binding(path=path)


@pytest.mark.parametrize(("given", "kept"), [("/kafka/", "kafka"), (".", ""), ("", ""), ("a/b c", "a/b c")])
def test_slashes_around_a_path_mean_nothing(given: str, kept: str) -> None:
    assert binding(path=given).path == kept


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"token_env": "ghp_abc"}, "never the token itself"),
        ({"token_env": "A", "token_file": Path("/x")}, "not both"),
        ({"token_file": Path("x")}, "absolute"),
        ({"ssh_key_file": Path("/x")}, "go with ssh"),
        ({"repository": "/srv/x.git", "token_env": "A"}, "goes with https"),
        ({"verbs": ()}, "verbs is empty"),
        ({"pgp_keys_file": Path("keys.asc")}, "absolute"),
        ({"accounts": ("payments",)}, "CLOUD/ACCOUNT"),
        ({"verbs": ("delete",)}, "create"),
        ({"name": "Teams"}, "lower-case"),
        ({"poll_s": 0}, "greater than or equal"),
        ({"password": "x"}, "Extra inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        binding(**given)


EGRESS = Egress(resolve=lambda _host, _port: ("192.0.2.7", "2001:db8::7"))


def test_bindings_come_from_the_settings_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "kedge.toml").write_text(
        f'git_local_paths = ["{tmp_path}"]\n'
        '[[git]]\nname = "teams"\nrepository = "https://git.example.org/specs.git"\npath = "kafka"\n'
        f'[[git]]\nname = "lab"\nrepository = "{tmp_path}/lab.git"\npoll_s = 5\n'
    )
    settings = load_settings(home=home)
    assert [(b.name, b.branch, b.path, b.poll_s) for b in settings.git] == [
        ("teams", "main", "kafka", 60),
        ("lab", "main", "", 5),
    ]


def test_a_local_repository_outside_the_listed_folders_is_refused(tmp_path: Path) -> None:
    outside = {"name": "lab", "repository": f"{tmp_path}/lab.git"}
    with pytest.raises(ServerSettingsRefused, match=r"allow\.git_paths"):
        load_settings(git=[outside])
    with pytest.raises(ServerSettingsRefused, match=r"allow\.git_paths"):
        load_settings(
            git=[{**outside, "repository": f"{tmp_path}/in/../../out.git"}], git_local_paths=[tmp_path / "in"]
        )


def test_two_bindings_of_one_name_are_refused() -> None:
    one = {"name": "teams", "repository": "https://git.example.org/specs.git"}
    with pytest.raises(ServerSettingsRefused, match="two git bindings are called teams"):
        load_settings(git=[one, one])


# --- the environment git runs in --------------------------------------------------------------------------------


def test_git_gets_one_protocol_and_nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "evil")
    monkeypatch.setenv("KEDGE_TOKEN", "x")
    monkeypatch.setenv("SSH_AUTH_SOCK", "x")
    environ, _ = fetch_environment(binding(), tmp_path, EGRESS)
    assert environ["GIT_ALLOW_PROTOCOL"] == "https"
    assert not {"GIT_SSH_COMMAND", "KEDGE_TOKEN", "SSH_AUTH_SOCK"} & environ.keys()
    assert {"core.hooksPath=/dev/null", "http.followRedirects=false", "submodule.recurse=false"} <= set(CONFIG)


def test_a_token_goes_by_the_environment_to_its_host_alone(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("canary\n")
    environ, secrets = fetch_environment(binding(token_file=tmp_path / "token"), tmp_path, EGRESS)
    assert environ["GIT_CONFIG_KEY_0"] == "http.https://git.example.org/.extraHeader"
    assert environ["GIT_CONFIG_VALUE_0"].startswith("Authorization: Basic ")
    assert "canary" in secrets.values
    (tmp_path / "token").write_text("rotated\n")
    assert fetch_environment(binding(token_file=tmp_path / "token"), tmp_path, EGRESS)[0] != environ


def test_git_connects_to_the_addresses_that_were_judged_and_looks_up_no_others(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("canary\n")
    environ, _ = fetch_environment(binding(token_file=tmp_path / "token"), tmp_path, EGRESS)
    assert environ["GIT_CONFIG_COUNT"] == "2"
    assert environ["GIT_CONFIG_KEY_1"] == "http.curloptResolve"
    assert environ["GIT_CONFIG_VALUE_1"] == "git.example.org:443:192.0.2.7,[2001:db8::7]"


def test_an_address_is_judged_and_needs_no_pin(tmp_path: Path) -> None:
    plain = Egress(resolve=lambda host, _port: (host,))
    environ, _ = fetch_environment(binding(repository="https://192.0.2.7/specs.git"), tmp_path, plain)
    assert environ["GIT_CONFIG_COUNT"] == "0"
    with pytest.raises(SourceFault, match="never called"):
        fetch_environment(binding(repository="https://169.254.169.254/specs.git"), tmp_path, plain)


def test_a_repository_whose_name_leads_to_a_clouds_credentials_is_not_asked(tmp_path: Path) -> None:
    rebound = Egress(resolve=lambda _host, _port: ("169.254.169.254",))
    with pytest.raises(SourceFault, match=r"169\.254\.169\.254") as fault:
        fetch_environment(binding(), tmp_path, rebound)
    assert fault.value.reason == "NotAllowed"


def test_ssh_believes_one_host_key_file_and_asks_nobody(tmp_path: Path) -> None:
    key, known = tmp_path / "a key", tmp_path / "known hosts"
    ssh = binding(repository="ssh://git@git.example.org:1/specs.git", ssh_key_file=key, known_hosts_file=known)
    egress = Egress(allow=(Allowed.of("127.0.0.0/8"),), resolve=lambda _host, _port: ("127.0.0.7", "127.0.0.8"))
    with pytest.raises(SourceFault, match="ssh_key_file") as fault:
        fetch_environment(ssh, tmp_path, egress)
    assert fault.value.reason == "CredentialMissing"
    key.touch()
    known.touch()
    command = fetch_environment(ssh, tmp_path, egress)[0]["GIT_SSH_COMMAND"]
    assert f"-i '{key}'" in command
    assert "HostName=127.0.0.7" in command, "nobody answers at either address here: it is the first"
    assert "HostKeyAlias=[git.example.org]:1" in command, "its key is known by its name"
    assert all(word in command for word in ("StrictHostKeyChecking=yes", "BatchMode=yes", "-F /dev/null"))


@pytest.mark.parametrize(
    ("repository", "asked", "known_as"),
    [
        ("ssh://git@git.example.org/specs.git", ("git.example.org", 22), "git.example.org"),
        ("ssh://git@git.example.org:2222/specs.git", ("git.example.org", 2222), "[git.example.org]:2222"),
        ("git@git.example.org:specs.git", ("git.example.org", 22), "git.example.org"),
    ],
)
def test_ssh_connects_to_the_address_that_was_judged_and_looks_up_no_other(
    tmp_path: Path, repository: str, asked: tuple[str, int], known_as: str
) -> None:
    looked_up: list[tuple[str, int]] = []

    def resolve(host: str, port: int) -> tuple[str, ...]:
        looked_up.append((host, port))
        return ("192.0.2.7",)

    command = shlex.split(ssh_command(tmp_path, repository, Egress(resolve=resolve)))
    assert looked_up == [asked]
    assert {"HostName=192.0.2.7", f"HostKeyAlias={known_as}"} <= set(command)


def test_a_repository_over_ssh_is_not_asked_where_https_would_not_be(tmp_path: Path) -> None:
    rebound = Egress(resolve=lambda _host, _port: ("169.254.169.254",))
    listed = Egress(allow=(Allowed.of("*.example.net"),), resolve=lambda _host, _port: ("192.0.2.7",))
    plain = Egress(resolve=lambda host, _port: (host,))
    for egress, host in ((rebound, "git.example.org"), (listed, "git.example.org"), (plain, "169.254.169.254")):
        with pytest.raises(SourceFault) as fault:
            ssh_command(tmp_path, f"ssh://git@{host}/specs.git", egress)
        assert fault.value.reason == "NotAllowed"
    assert "HostName" not in ssh_command(tmp_path, "ssh://git@192.0.2.7/specs.git", plain), "there is nothing to pin"


def ssh_command(folder: Path, repository: str, egress: Egress) -> str:
    key, known = folder / "key", folder / "known"
    key.touch()
    known.touch()
    ssh = binding(repository=repository, ssh_key_file=key, known_hosts_file=known)
    return fetch_environment(ssh, folder, egress)[0]["GIT_SSH_COMMAND"]
