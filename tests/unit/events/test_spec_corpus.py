"""Bad specs as people and attackers write them; the first line of each says which problems it must get, in order."""

from pathlib import Path

import pytest

from events.spec.document import load_documents

CORPUS = sorted((Path(__file__).parent / "spec_corpus").glob("*.yaml"))
EXPECT = "# expect: "


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) >= 20


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_bad_spec_gets_exactly_its_problems(path: Path) -> None:
    content = path.read_bytes()
    first = content.decode().splitlines()[0]
    assert first.startswith(EXPECT)
    result = load_documents(content, file=path.name)
    assert [one.code for one in result.problems] == first.removeprefix(EXPECT).split(), "\n".join(
        map(str, result.problems)
    )
    assert not result.ok
    assert all(one.line > 1 or one.code == "KEDGE-SPEC-010" for one in result.problems)
