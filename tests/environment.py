"""What processes of tests get beside their environment."""

import os
from pathlib import Path


def kept_bytecode() -> dict[str, str]:
    """Ours, but that what Python compiles is kept in any case: else each process of a stage reads and rewrites its test
    modules anew, 5 s for those of Terraform. Where files are not to be written beside the code, below `.cache`.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return dict(os.environ)
    kept = Path(__file__).parents[1] / ".cache" / "bytecode"
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(kept)}
