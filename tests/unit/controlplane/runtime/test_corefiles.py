"""A server that crashes leaves no file of its memory."""

import subprocess
import sys

_SHOWN = """
import resource
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
from controlplane.runtime.core_dumps import leave_no_core_files
leave_no_core_files()
import subprocess, sys
look = "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))"
print(hard)
print(subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout)
"""


def test_neither_the_server_nor_what_it_starts_leaves_a_core_file() -> None:
    told = subprocess.run([sys.executable, "-c", _SHOWN], check=True, capture_output=True, text=True).stdout.split()
    hard, soft, hard_of_child = (int(word) for word in told)
    assert hard != 0, "a machine whose hard limit is 0 cannot tell"
    assert (soft, hard_of_child) == (0, hard)
