"""The agent's own log holds neither its credential nor its token, however they came into a line."""

import io
import logging
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from agent import secret_log
from agent.certification import Certification, signing_request
from agent.credential import CredentialFiles
from agent.layout import AgentLayout
from agent.masking import HIDDEN
from agent.secret_log import MaskedLines, known_secrets, mask_tracebacks, remember
from agent.wire import BootData
from tests.unit.agent.wanted import boot_data


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_log, "_KNOWN", type(secret_log._KNOWN)(maxlen=32))


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(MaskedLines())
    logger = logging.Logger("agent.test")
    logger.addHandler(handler)
    return logger, written


def test_a_credential_is_in_no_line_from_its_first_moment_on_and_after_a_rotation(
    tmp_path: Path, log: tuple[logging.Logger, io.StringIO]
) -> None:
    logger, written = log
    credential = CredentialFiles(tmp_path)
    first = credential.load_or_make()
    second = credential.next()
    for word in (first, second):
        logger.warning("refused: %s", {"X-Shown": word})
        try:
            raise ValueError(f"the server said {word}")
        except ValueError:
            logger.exception("it failed")
    assert first not in written.getvalue()
    assert second not in written.getvalue()
    assert written.getvalue().count(HIDDEN) == 4


def test_a_vms_own_key_is_in_no_line_whole_or_a_line_of_it(
    tmp_path: Path, log: tuple[logging.Logger, io.StringIO]
) -> None:
    """From the moment it is made, and in an agent that starts again with the certificate it has."""
    logger, written = log

    def certification() -> Certification:
        boot, trust = boot_data(), SimpleNamespace(show=lambda _: None)
        client = SimpleNamespace(reconnect=lambda: None, certify=lambda asked: SimpleNamespace(certificate="signed"))
        return Certification(boot, client=client, trust=trust, state=tmp_path, make=signing_request)  # type: ignore[arg-type]

    assert certification().run()
    key = (tmp_path / "certificate.pem").read_text().partition("signed")[0]
    lines = key.splitlines()[1:-1]
    assert len(lines) == 3
    logger.warning("whole: %s", key)
    for line in lines:
        logger.warning("a line: %s", line)
    secret_log._KNOWN.clear()
    certification()
    logger.warning("again: %s", lines[1])
    assert [line for line in lines if line in written.getvalue()] == []
    assert written.getvalue().count(HIDDEN) == 5


def test_an_agent_that_starts_again_knows_the_credential_it_has(
    tmp_path: Path, log: tuple[logging.Logger, io.StringIO]
) -> None:
    (tmp_path / "credential").write_text("0f" * 32)
    logger, written = log
    logger.info("shown %s", CredentialFiles(tmp_path).load_or_make())
    assert "0f0f" not in written.getvalue()


def test_nor_is_the_one_time_token_in_a_line_or_in_what_boot_data_print(
    tmp_path: Path, log: tuple[logging.Logger, io.StringIO]
) -> None:
    boot = BootData(
        installation_id="i",
        cluster_uid="c1",
        node="brokers-a-0",
        generation=1,
        intent_id="intent-1",
        server_url="http://127.0.0.1:1",
        token=SecretStr("ab" * 32),
    )
    assert "abab" not in repr(boot)
    assert "abab" in boot.model_dump_json()
    (tmp_path / "boot.json").write_text(boot.model_dump_json())
    logger, written = log
    logger.info("%s", AgentLayout(tmp_path).boot_data().token.get_secret_value())
    assert "abab" not in written.getvalue()


def test_a_traceback_that_ends_the_agent_is_masked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    remember("s3cret-of-a-vm")
    mask_tracebacks()
    error = RuntimeError("it was s3cret-of-a-vm")
    sys.excepthook(RuntimeError, error, None)
    threading.excepthook(threading.ExceptHookArgs((RuntimeError, error, None, None)))
    told = capsys.readouterr().err
    assert told.count(f"RuntimeError: it was {HIDDEN}") == 2
    assert "s3cret" not in told


def test_only_the_last_are_known() -> None:
    for number in range(40):
        remember(f"credential-{number:02}")
    assert len(known_secrets()) == 32
    assert "credential-39" in known_secrets()
