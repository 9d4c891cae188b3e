"""Where the server is found, and to whom the token is never shown."""

import json
from pathlib import Path

import httpx
import pytest

from controlplane.cli.address import home_of, locate
from controlplane.cli.errors import CliError, Unreachable
from controlplane.cli.surroundings import Surroundings
from controlplane.cli.token_store import keep_token, token_for
from tests.unit.controlplane.cli.invoked import kedge


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / ".kedge"
    home.mkdir()
    (home / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:8428/", "pid": 7}))
    (home / "token").write_text("abc\n")
    return home


def test_the_home_is_kedge_home_or_dot_kedge_here(tmp_path: Path) -> None:
    assert home_of({}, tmp_path) == tmp_path / ".kedge"
    assert home_of({"KEDGE_HOME": "/var/lib/kedge"}, tmp_path) == Path("/var/lib/kedge")


def test_the_server_file_names_the_address_and_the_token_file_the_token(home: Path, tmp_path: Path) -> None:
    found = locate({}, tmp_path)
    assert (found.url, found.token.get_secret_value(), found.source) == (
        "http://127.0.0.1:8428",
        "abc",
        str(home / "server.json"),
    )


def test_kedge_server_beats_the_server_file(home: Path, tmp_path: Path) -> None:
    found = locate({"KEDGE_SERVER": "https://kedge.example", "KEDGE_TOKEN": "mine"}, tmp_path)
    assert (found.url, found.source) == ("https://kedge.example", "KEDGE_SERVER")


def test_without_a_server_file_the_next_step_is_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as refused:
        locate({}, tmp_path)
    assert "kedge server" in refused.value.next_step
    assert str(tmp_path) in refused.value.where


@pytest.mark.parametrize("url", ["http://10.0.0.5:8428", "http://kedge.example", "http://127.0.0.1.example:1"])
def test_the_token_is_not_sent_in_plain_text_off_loopback(home: Path, tmp_path: Path, url: str) -> None:
    with pytest.raises(CliError, match="is refused") as refused:
        locate({"KEDGE_SERVER": url}, tmp_path)
    assert "plain text" in refused.value.why


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://10.0.0.5"])
def test_loopback_and_https_are_accepted(home: Path, tmp_path: Path, url: str) -> None:
    assert locate({"KEDGE_SERVER": url, "KEDGE_TOKEN": "mine"}, tmp_path).url == url


def test_the_token_of_the_home_is_sent_to_no_other_machine(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CliError, match=r"there is no token for https://kedge\.example") as refused:
        locate({"KEDGE_SERVER": "https://kedge.example"}, tmp_path)
    assert "kedge login --server https://kedge.example" in refused.value.next_step


def test_a_token_of_ones_own_beats_that_of_the_home(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("from-a-file\n")
    file.chmod(0o600)
    assert locate({"KEDGE_TOKEN": "mine", "KEDGE_TOKEN_FILE": str(file)}, tmp_path).token.get_secret_value() == "mine"
    assert locate({"KEDGE_TOKEN_FILE": str(file)}, tmp_path).token.get_secret_value() == "from-a-file"
    keep_token({"HOME": str(tmp_path)}, "http://127.0.0.1:8428", "kept")
    assert locate({"HOME": str(tmp_path)}, tmp_path).token.get_secret_value() == "kept"
    keep_token({"HOME": str(tmp_path)}, "http://127.0.0.1:8428", "")
    assert locate({"HOME": str(tmp_path)}, tmp_path).token.get_secret_value() == "abc"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_file_that_others_may_read_is_not_read(home: Path, tmp_path: Path, mode: int) -> None:
    file = tmp_path / "mine"
    file.write_text("from-a-file")
    file.chmod(mode)
    with pytest.raises(CliError, match="not read") as refused:
        locate({"KEDGE_TOKEN_FILE": str(file)}, tmp_path)
    assert refused.value.next_step == f"chmod 600 {file}"


def test_kept_tokens_are_for_their_owner_alone_and_each_for_its_server(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    keep_token(environ, "https://a.example", "for-a")
    path = keep_token(environ, "https://b.example", "for-b")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert token_for(environ, "https://a.example") == "for-a"
    assert token_for(environ, "https://c.example") == ""
    path.chmod(0o644)
    with pytest.raises(CliError, match="not read"):
        token_for(environ, "https://a.example")


@pytest.mark.parametrize("token", ["a b", "ü", "a\nb"])
def test_what_is_no_token_goes_into_no_header(home: Path, tmp_path: Path, token: str) -> None:
    with pytest.raises(CliError, match="not a token"):
        locate({"KEDGE_TOKEN": token}, tmp_path)


@pytest.mark.parametrize("url", ["127.0.0.1:8428", "ftp://x", "http://"])
def test_what_is_no_address_is_told_with_its_source(home: Path, tmp_path: Path, url: str) -> None:
    with pytest.raises(CliError, match="is not the address") as refused:
        locate({"KEDGE_SERVER": url}, tmp_path)
    assert refused.value.where == "KEDGE_SERVER"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_server_file_is_an_error_and_no_traceback(home: Path, tmp_path: Path, text: str) -> None:
    (home / "server.json").write_text(text)
    with pytest.raises(CliError, match="cannot read the address"):
        locate({}, tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"two\nlines\n"])
def test_a_token_that_is_missing_or_none_is_an_error(home: Path, tmp_path: Path, content: bytes | None) -> None:
    (home / "token").unlink()
    if content is not None:
        (home / "token").write_bytes(content)
    with pytest.raises(CliError, match="token"):
        locate({}, tmp_path)


def test_an_address_never_shows_its_token(home: Path, tmp_path: Path) -> None:
    assert "abc" not in repr(locate({}, tmp_path))


def test_an_error_shows_neither_the_token_nor_a_password_of_the_address(tmp_path: Path) -> None:
    def answering(_: httpx.Request) -> httpx.Response:
        said = {"title": "it broke on kedge-token-of-mine", "status": 409, "detail": "", "code": "refused", "next": ""}
        return httpx.Response(409, json=said, headers={"Content-Type": "application/problem+json"})

    environ = {"KEDGE_SERVER": "http://ada:hunter2@127.0.0.1:9", "KEDGE_TOKEN": "kedge-token-of-mine"}
    around = Surroundings(environ=environ, cwd=tmp_path, transport=httpx.MockTransport(answering))
    told = kedge("get", around=around)
    assert told.exit_code != 0
    assert "it broke on ***" in told.stderr
    assert "of-mine" not in told.output
    unanswered = kedge("get", around=Surroundings(environ=environ, cwd=tmp_path, sleep=lambda _: None))
    assert "http://ada:***@127.0.0.1:9" in unanswered.stderr
    assert "hunter2" not in unanswered.output
