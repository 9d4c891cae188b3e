"""`python -m agent --root DIR`: the agent of one VM (agent/main.py), unless it was built for another machine.

Nothing is imported before that is known but Python's own: packages that were compiled for another processor or Python
would end it with words that name none of the two.
"""

import sys
from collections.abc import Sequence

from agent.platforms import BUILT_FOR, wrong_platform

_EXIT_WRONG_PLATFORM = 4


def main(argv: Sequence[str] | None = None) -> int:
    if mismatch := wrong_platform(BUILT_FOR):
        print(f"kedge-agent: {mismatch}", file=sys.stderr)
        return _EXIT_WRONG_PLATFORM
    from agent.main import main as run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
