"""The reference page and the JSON Schema are those of the model, and the examples follow them."""

import json
from pathlib import Path
from typing import Any

import pytest

from events.spec.fields import Part, fields_of, part_type
from events.spec.model import KafkaClusterDocument
from events.spec.problems import KINDS
from events.spec.reference import DOCS, main, page, pages, schema

HERE = Path(__file__).parent


def test_the_pages_in_docs_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_check_writes_nothing_and_names_the_stale_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--docs", str(tmp_path)])
    (tmp_path / "spec.md").write_text("old")
    capsys.readouterr()
    assert main(["--check", "--docs", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "spec.md is not current; run `python -m events.spec.reference`" in said
    assert "spec.schema.json" not in said
    assert (tmp_path / "spec.md").read_text() == "old"


def test_writing_twice_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--docs", str(tmp_path)])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == pages()
    capsys.readouterr()
    assert main(["--docs", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_page_has_every_problem_code() -> None:
    assert [code for code in KINDS if f"| {code} |" not in page()] == []


def test_every_problem_code_is_expected_by_a_test() -> None:
    # What only the server knows of is refused at its door.
    asking = [*HERE.glob("test_spec_*.py"), *(HERE.parent / "controlplane").rglob("test_*_admission.py")]
    texts = "".join(path.read_text() for path in asking)
    assert [code for code in KINDS if code not in texts] == []


def test_the_schema_on_disk_is_what_editors_understand() -> None:
    found = json.loads((DOCS / "spec.schema.json").read_text())
    assert found["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert "$defs" not in json.dumps(found)
    assert found["required"] == ["apiVersion", "kind", "metadata", "spec"]


def test_the_schema_has_every_key_of_the_model_and_no_other() -> None:
    found = schema()

    def compare(part: type[Part], node: dict[str, Any]) -> None:
        assert node["additionalProperties"] is False
        assert set(node["properties"]) == {key for _, key, _ in fields_of(part)}
        for _, key, info in fields_of(part):
            inner = part_type(info.annotation)
            assert node["properties"][key]["x-kedge-class"]
            if inner is not None:
                compare(inner, found["definitions"][inner.__name__])

    compare(KafkaClusterDocument, found)
