"""A module whose plans see the sizes of volumes. Every other run ignores what volumes look like: what exists is frozen.

The `lifecycle` of a resource takes no expression, so the module of a grow run is a copy in which one line is another:

    ignore_changes = all # grows: [availability_zone, type]

becomes `ignore_changes = [availability_zone, type]`. A cloud whose module has no such line grows no volume.
"""

import re
import shutil
from pathlib import Path

from providers.errors import UnsupportedChange

_LINE = re.compile(r"^(\s*ignore_changes\s*=\s*)\S.*?\s*# grows: (\[[^\]\n]*\])$", re.MULTILINE)


def growing_module(module: Path, copy: Path) -> Path:
    """Writes the module of grow runs to the new directory `copy`, and returns that. Raises `UnsupportedChange`."""
    lines = 0
    copy.mkdir(mode=0o700)
    for file in sorted(path for path in module.iterdir() if path.is_file()):
        if file.suffix != ".tf":
            shutil.copyfile(file, copy / file.name)
            continue
        text, found = _LINE.subn(r"\1\2", file.read_text())
        lines += found
        (copy / file.name).write_text(text)
    if not lines:
        raise UnsupportedChange(f"the module of {module.name} cannot make a volume larger")
    return copy
