"""What an earlier release compiled does not stand in the way of this one."""

import subprocess
import sys
from pathlib import Path

_MODULE = """
from typing import NamedTuple

from planner.drain.model.compiled import compiled


class {name}(NamedTuple):
    count: int


@compiled
def twice(given: {name}) -> int:
    return 2 * given.count


print(twice({name}(21)))
"""


def test_a_kernel_kept_for_a_type_that_is_gone_is_compiled_anew(tmp_path: Path) -> None:
    file = tmp_path / "kernels_of_a_release.py"
    for name in ("Earlier", "Present"):
        file.write_text(_MODULE.format(name=name))
        command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import kernels_of_a_release"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert said.stdout == "42\n", said.stderr
    assert len(list(tmp_path.rglob("*.nbi"))) == 1
