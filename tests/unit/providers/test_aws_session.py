"""Sessions of different accounts read the descriptions of AWS's services once, and share nothing else."""

from pathlib import Path
from typing import Any

import botocore.loaders
import pytest
from botocore.exceptions import ProfileNotFound

from providers.aws import session
from providers.aws.session import session_of

PROFILES = """
[profile payments]
region = eu-west-1
aws_access_key_id = of-payments
aws_secret_access_key = secret

[profile search]
region = eu-central-1
aws_access_key_id = of-search
aws_secret_access_key = secret
"""


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two accounts in a configuration of their own, and nothing read yet."""
    (tmp_path / "config").write_text(PROFILES)
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DATA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setattr(session, "_loaders", {})
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of descriptions that are read from now on."""
    told: list[str] = []
    load = botocore.loaders.JSONFileLoader.load_file

    def noted(self: Any, file_path: str) -> Any:
        found = load(self, file_path)
        if found is not None:
            told.append(file_path)
        return found

    monkeypatch.setattr(botocore.loaders.JSONFileLoader, "load_file", noted)
    return told


def test_what_a_service_is_like_is_read_once_for_all_accounts(read: list[str]) -> None:
    session_of("payments").client("sts")
    assert any("sts" in path for path in read)
    read.clear()
    session_of("search").client("sts")
    assert read == []


def test_each_account_keeps_its_own_credentials_and_region() -> None:
    sessions = [session_of(name) for name in ("payments", "search")]
    assert [s.get_credentials().access_key for s in sessions] == ["of-payments", "of-search"]
    assert [s.client("sts").meta.region_name for s in sessions] == ["eu-west-1", "eu-central-1"]


def test_hooks_on_the_clients_of_one_account_hear_nothing_of_another() -> None:
    ours, others = (session_of(name).client("sts") for name in ("payments", "search"))
    heard: list[str] = []
    ours.meta.events.register("provide-client-params.sts", lambda **_: heard.append("ours"))
    others.meta.events.emit("provide-client-params.sts.GetCallerIdentity", params={}, model=None, context={})
    assert heard == []


def test_a_profile_nobody_wrote_is_refused() -> None:
    with pytest.raises(ProfileNotFound, match="nobodys"):
        session_of("nobodys")


def test_a_profile_with_descriptions_of_its_own_shares_none(profiles: Path) -> None:
    (profiles / "config").write_text(PROFILES + f"data_path = {profiles / 'models'}\n")
    own, common = session_of("search"), session_of("payments")
    assert str(profiles / "models") in own._session.get_component("data_loader").search_paths
    assert str(profiles / "models") not in common._session.get_component("data_loader").search_paths
