"""Records of the local cloud that somebody damaged."""

from pathlib import Path

import pytest

from providers.errors import CloudUnavailable
from providers.local.record import read_record, write_record


@pytest.mark.parametrize(("text", "why"), [('{"address": "127.0', "no JSON"), ("[1]", "not a record but a list")])
def test_a_damaged_record_is_unknown_and_named(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "vm.json"
    path.write_text(text)
    with pytest.raises(CloudUnavailable) as raised:
        read_record(path)
    assert f"{path} is damaged ({why}" in str(raised.value)
    assert "put it back as it was" in str(raised.value)


def test_a_record_that_is_not_there_is_none_and_one_that_is_there_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vm.json"
    assert read_record(path) is None
    write_record(path, {"address": "127.0.0.1"})
    assert read_record(path) == {"address": "127.0.0.1"}
