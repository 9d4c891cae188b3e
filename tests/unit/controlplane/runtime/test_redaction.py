"""Secrets in what a process writes down: known ones however they came into a record, and the shapes they have."""

import io
import json
import logging
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pydantic import SecretStr

from controlplane.runtime.redaction import MASK, redacted, redacted_fields, tell_uncaught
from controlplane.server.logging_setup import Lines, Stderr, json_lines, thread_errors_logged
from controlplane.server.settings import Settings
from controlplane.storage.log_context import WithContext, logged
from events import secrets
from events.engine import shown_url
from events.secrets import PASSING, forget, known_secrets, remember, secret
from providers.errors import AuthFailed, TerraformFailed

SHOWN = st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=12, max_size=40).filter(
    lambda text: len(set(text)) > 6 and text == text.strip()
)
"""Secrets of every character, quotes, backslashes and other alphabets among them."""
PLAIN = st.text(st.sampled_from("abc xyz012._-/%[]()\n"), max_size=60)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_forms", {})
    monkeypatch.setattr(secrets, "_passing", [])
    monkeypatch.setattr(secrets, "_known", ())


class Log:
    """What a server's handler writes, in both forms at once."""

    def __init__(self) -> None:
        self.text, self.json = io.StringIO(), io.StringIO()
        self.logger = logging.Logger("kedge.test", logging.INFO)
        for stream, formatter in ((self.text, Lines()), (self.json, json_lines("server-1"))):
            handler = Stderr(stream)
            handler.setFormatter(formatter)
            handler.addFilter(WithContext())
            self.logger.addHandler(handler)

    @property
    def written(self) -> str:
        return self.text.getvalue() + self.json.getvalue()

    def tells(self, word: str) -> bool:
        """Whether it stands there, as it is or as a reader of the JSON gets it."""
        read = [json.loads(line) for line in self.json.getvalue().split("\n") if line]
        return word in self.written or any(word in str(value) for one in read for value in one.values())


class Holding:
    """An object whose text shows what it holds."""

    def __init__(self, held: str) -> None:
        self.held = held

    def __str__(self) -> str:
        return f"<holding {self.held}>"


@given(word=SHOWN, before=PLAIN, after=PLAIN, cut=st.integers(1, 11))
def test_a_known_secret_leaves_by_no_record_however_it_came_into_it(
    word: str, before: str, after: str, cut: int
) -> None:
    remember(word)
    log = Log()
    log.logger.info(f"{before}{word}{after}")  # without arguments nothing in it is a place for one
    log.logger.info("%s%s%s", before, word, after)
    log.logger.info("%s%s", word[:cut], word[cut:])
    log.logger.info("%r of %s", word, {"deep": [word, (word,)], word: 1})
    log.logger.info("%s", Holding(word), extra={"node": word, "odd": {"a": [{"b": word}]}, "held": Holding(word)})
    with logged(cluster=word, actor=f"user:{word}"):
        log.logger.warning("something", stack_info=True)
    try:
        try:
            raise ValueError(f"the inner one: {word}")
        except ValueError as inner:
            inner.add_note(f"noted {word}")
            raise KeyError(word) from inner
    except KeyError:
        log.logger.exception("it failed with %s", word)
    try:
        assert not log.tells(word)
        assert MASK in log.text.getvalue()
        assert MASK in log.json.getvalue()
        assert log.json.getvalue().count("\n") == 7
    finally:
        forget(word)


@given(words=st.lists(PLAIN, min_size=1, max_size=5))
def test_a_text_without_secrets_is_what_it_was(words: list[str]) -> None:
    remember("a-secret-nobody-says")
    text = " ".join(words)
    assert redacted(text) == text
    assert redacted_fields({"message": text, "position": 812}) == {"message": text, "position": 812}


@given(word=SHOWN, around=PLAIN)
def test_what_was_redacted_is_not_redacted_again(word: str, around: str) -> None:
    remember(word)
    once = redacted(f"{around} password={word} {around}")
    forget(word)
    assert redacted(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic a2VkZ2U6czNjcjN0LWFuZC1tb3Jl",
        "{'authorization': 'Bearer hidethisone'}",
        "('Authorization', 'AWS4-HMAC-SHA256 Credential=hidethis/x, SignedHeaders=host, Signature=hidethis')",
        "GET https://bucket/x?X-Amz-Signature=hidethis&X-Amz-Security-Token=hidethis&X-Amz-Credential=hidethis%2F",
        "https://store.example.com/log?sv=1&sig=hidethis%3D",
        "postgresql://kedge:hidethis@db/kedge did not answer",
        "fatal: unable to access 'https://hidethis@git.example.com/specs.git/'",
        "-----BEGIN EC PRIVATE KEY-----\nhidethis\n-----END EC PRIVATE KEY-----",
        "connection failed: host=db password=hidethis dbname=kedge",
        '{"client_secret": "hide this", "grant_type": "code"}',
        "Set-Cookie: kedge_session=hidethis; HttpOnly",
        "token eyJhbGciOiJoaWRl.eyJzdWIiOiJoaWRl.hidethis was refused",
        "kedge_0123456789ab_hidethishidethishidethishidethishidethis123 was shown",
        "remote: ghp_hidethishidethishidethishidethis is over",
    ],
)
def test_what_has_the_shape_of_a_secret_is_not_told(text: str) -> None:
    told = redacted(text)
    assert "hidethis" not in told
    assert "hide this" not in told
    assert "a2VkZ2U6" not in told
    assert MASK in told


@pytest.mark.parametrize(
    "text",
    [
        "aws/production/eu-west-1: credentials: Unable to locate credentials",
        "listening on http://127.0.0.1:8428, token in /home/ada/.kedge/token",
        "the variable TEAMS_GIT_TOKEN (token_env) holds no token",
        "token_file=/etc/kedge/teams: it can be read by others",
        "something [actor=token:nightly-plans key=brokers-a-0.g1]",
        "ssh://git@git.example.com/specs.git answered",
        "basic authentication is refused, bearer tokens are not",
        "https://kedge.example.com:8443/agent/v1/report",
    ],
)
def test_what_people_need_to_read_is_told(text: str) -> None:
    assert redacted(text) == text


def test_a_json_line_stays_json_and_keeps_its_other_fields() -> None:
    remember('q"uo\\te-s3cret')
    log = Log()
    log.logger.info('it said {"password": "hunter2"} and q"uo\\te-s3cret', extra={"position": 812, "node": "b-0"})
    told = json.loads(log.json.getvalue())
    assert told["message"] == f'it said {{"password": {MASK}}} and {MASK}'
    assert (told["position"], told["node"], told["server"]) == (812, "b-0", "server-1")


def test_the_names_of_fields_tell_what_is_a_secret() -> None:
    assert redacted_fields({"password": "two words", "count": 3}) == {"password": MASK, "count": 3}
    assert redacted_fields({"deep": {"api_key": "two words"}}) == {"deep": {"api_key": MASK}}


def test_a_record_that_cannot_be_written_does_not_tell_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    remember("s3cret-of-somebody")
    log = Log()
    log.logger.info("%d brokers", "s3cret-of-somebody")
    assert "s3cret-of-somebody" not in log.written + capsys.readouterr().err
    assert "test_redaction.py" in log.written


def test_a_thread_that_dies_tells_it_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def dies() -> None:
        raise RuntimeError("nobody expected this")

    with thread_errors_logged():
        thread = threading.Thread(target=dies, name="the-one")
        thread.start()
        thread.join()
    assert "the-one ended by an unexpected error" in caplog.text
    assert "nobody expected this" in caplog.text


def test_a_traceback_that_ends_the_process_is_redacted(capsys: pytest.CaptureFixture[str]) -> None:
    remember("s3cret-of-somebody")
    try:
        raise RuntimeError("it was s3cret-of-somebody")
    except RuntimeError:
        kind, error, trace = sys.exc_info()
        assert kind is not None
        assert error is not None
        tell_uncaught(kind, error, trace)
    told = capsys.readouterr().err
    assert f"RuntimeError: it was {MASK}" in told
    assert "s3cret-of-somebody" not in told


def test_of_secrets_that_come_and_go_only_the_last_are_known() -> None:
    remember("the-one-that-stays")
    made = [secret(f"token-number-{number:04}", passing=True) for number in range(PASSING + 5)]
    assert len(known_secrets()) == PASSING + 1
    assert made[0].get_secret_value() not in known_secrets()
    assert made[-1].get_secret_value() in known_secrets()
    assert "the-one-that-stays" in known_secrets()


def test_a_secret_shows_nothing_wherever_it_is_printed() -> None:
    held = secret("s3cret-of-somebody")
    assert isinstance(held, SecretStr)
    assert "s3cret" not in f"{held} {held!r} {[held]} {{'token': held}}"


def test_the_password_of_the_database_is_in_no_text_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=SecretStr("postgresql://kedge:p%40ssword1@db/kedge"))
    assert "ssword1" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert settings.database_url == "postgresql://kedge:p%40ssword1@db/kedge"
    assert redacted("the password is p@ssword1") == f"the password is {MASK}"


def test_a_rebuild_asks_about_a_database_without_its_password() -> None:
    assert shown_url("postgresql://kedge:hunter2@db/kedge") == "postgresql://kedge:***@db/kedge"


def test_a_clouds_own_words_lose_our_secrets_before_anybody_records_or_shows_them() -> None:
    remember("s3cret-of-somebody")
    said = "no such token: s3cret-of-somebody"
    for error in (AuthFailed(said), TerraformFailed("it failed", [said])):
        assert "s3cret" not in str(error)
        assert MASK in f"{error}"


def test_a_variable_that_is_no_text_is_a_secret_all_the_same() -> None:
    remember("s3cret-\udcff-of-somebody")
    assert redacted("it was s3cret-\udcff-of-somebody") == f"it was {MASK}"
