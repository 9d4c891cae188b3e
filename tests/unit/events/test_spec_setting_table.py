"""The committed tables of Kafka's settings: whole, readable, and asked by release line."""

import pytest

from events.spec.setting_table import (
    TABLES,
    UpdateMode,
    came_with,
    has_table,
    lines_with,
    newest_known,
    read_table,
    settings_of,
)


@pytest.mark.parametrize(("version", "settings"), [("3.8.1", 299), ("3.9.1", 314), ("4.1.1", 316), ("4.2.0", 320)])
def test_a_table_has_every_setting_of_its_release(version: str, settings: int) -> None:
    table = settings_of(version)
    assert len(table) == settings
    assert list(table) == sorted(table)


def test_a_setting_is_what_kafka_says() -> None:
    found = settings_of("4.2.0")["num.io.threads"]
    assert (found.type, found.default, found.valid, found.importance) == ("int", "8", "[1,...]", "high")
    assert found.update_mode is UpdateMode.CLUSTER_WIDE
    assert (found.deprecated, found.is_sensitive) == (False, False)


def test_no_default_is_not_an_empty_one() -> None:
    table = settings_of("4.2.0")
    assert (table["broker.rack"].default, table["authorizer.class.name"].default) == (None, "")


def test_only_passwords_are_sensitive() -> None:
    sensitive = {name for name, setting in settings_of("4.2.0").items() if setting.is_sensitive}
    assert "ssl.keystore.password" in sensitive
    assert "num.io.threads" not in sensitive


def test_deprecation_is_about_the_setting_itself() -> None:
    deprecated = {name for name, setting in settings_of("4.2.0").items() if setting.deprecated}
    assert deprecated == {"log.cleaner.enable", "remote.log.manager.thread.pool.size"}


def test_a_patch_release_is_read_by_its_line() -> None:
    assert settings_of("4.1.9") is settings_of("4.1.1")


def test_a_version_without_a_table_is_named_with_those_that_have_one() -> None:
    assert not has_table("5.0.0")
    with pytest.raises(LookupError, match=r"Kafka 5\.0\.0 are not known; known lines: 3\.8, 3\.9, 4\.1, 4\.2"):
        settings_of("5.0.0")


def test_a_setting_knows_the_releases_that_have_it() -> None:
    assert lines_with("num.io.threads") == tuple(TABLES)
    assert lines_with("log.message.format.version") == ("3.8", "3.9")
    assert lines_with("no.such.setting") == ()
    assert newest_known("no.such.setting") is None
    assert newest_known("config.providers") == settings_of("4.2.0")["config.providers"]
    assert (came_with("config.providers"), came_with("num.io.threads")) == ("4.2.0", "4.1.1")
    assert came_with("zookeeper.connect") is None


def test_lines_that_tell_where_a_table_comes_from_are_no_settings() -> None:
    text = "# Kafka 9\nname,type,default,valid,importance,update_mode,deprecated\na.b,int,null,,low,read-only,yes\n"
    (found,) = read_table(text)
    assert (found.name, found.default, found.deprecated) == ("a.b", None, True)
