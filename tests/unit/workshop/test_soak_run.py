"""One run of soak over small test files: what failed is run again once all is over, and all is kept."""

import re
from pathlib import Path

import pytest

from tests.soak.__main__ import Soak
from tests.soak.durations import ROOT
from tests.soak.kept import Kept
from tests.soak.page import standings
from tests.soak.sweeps import Chosen
from tests.soak.whole import Job, Streams, lane_of
from tests.turns import Turn

BEGIN = "from pathlib import Path\nimport pytest\npytestmark = pytest.mark.soak\nHERE = Path(__file__).parent\n"
FILES = {
    "tests/terraform/test_swept.py": "from tests.sim.sweep import sweep\n"
    "def test_swept():\n    done = []\n    sweep('n', range(4), done.append)\n    assert done == [1, 3]\n",
    "tests/e2e/test_once.py": "def test_first(): pass\n"
    "def test_once():\n    tried = HERE / 'tried'\n    before = tried.exists()\n    tried.touch()\n"
    "    assert before, 'late'\n",
    "tests/kafka/test_always.py": "def test_always(): assert False, 'always'\n",
    "tests/agent/test_broken.py": "import os\ndef test_broken(): os._exit(9)\n",
    "tests/portal/test_last.py": "def test_all_others_were_before():\n"
    "    assert (HERE.parent / 'e2e' / 'tried').exists()\n    print('said')\n    assert False, 'of the portal'\n",
}


@pytest.mark.timeout(600)
def test_a_run_has_every_lane_tries_again_at_the_end_and_keeps_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, words in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(BEGIN + words)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = soak\ntimeout = 60\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    turn = Chosen(Turn(2, 2), "a test")
    kept = Kept.of(tmp_path / "kept" / "tree.jsonl", turn)
    todo = [Job(file, lane_of(file), 1.0, turn.parts) for file in FILES]

    Soak(kept, Streams(processor=1, waiting=4, timed=1), len(todo)).run(todo)

    again = Kept.of(kept.file, Chosen(Turn(1, 2), "later"))
    assert again.done() == {"tests/terraform/test_swept.py", "tests/e2e/test_once.py"}
    stand = standings(again.figures)
    assert [r.why.partition(";")[0] for r in stand["tests/e2e/test_once.py"].second] == ["AssertionError: late"]
    assert stand["tests/terraform/test_swept.py"].tests["tests/terraform/test_swept.py::test_swept"].parts == "1/2"
    assert [stand[f].words for f in list(FILES)[2:]] == ["1 failed", "pytest broke", "1 failed"]
    calls = [(f.name, f.alone) for f in again.figures]
    assert calls[4:5] == [("tests/portal/test_last.py", False)], "after the others"
    assert sorted(calls[5:]) == [
        ("tests/agent/test_broken.py", False),
        ("tests/e2e/test_once.py", True),
        ("tests/kafka/test_always.py", True),
        ("tests/portal/test_last.py", True),
    ]
    assert (tmp_path / "kept" / "tree" / "tests-portal-test_last.log").read_text().count("1 failed in") == 2
    told = capsys.readouterr().out
    for word in ("tests/portal/test_last.py", "tests/kafka/test_always.py, alone"):
        assert re.search(rf"\[5/5, \d+ min\] {word}: 1 FAILED, 1 tests in", told), told
    assert "tests/portal/test_last.py::test_all_others_were_before: AssertionError: of the portal" in told
