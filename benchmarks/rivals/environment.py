"""The rivals' own virtual environment, made once."""

import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ("kafka-tools==0.1.9", "six==1.17.0", "setuptools<81", "kafka-utils==4.1.0")
"""kafka-tools 0.1.9 imports six and pkg_resources without naming them."""

INSTALL_TIMEOUT_S = 600
HOME = Path(__file__).resolve().parents[2] / ".cache" / "rivals"


def python_of_rivals(home: Path = HOME) -> Path:
    """The interpreter of the environment; installs it from PyPI unless it is complete already.

    Raises RuntimeError with pip's last lines when the packages cannot be installed.
    """
    python, complete = home / "bin" / "python", home / "complete.txt"
    wanted = "\n".join((sys.version, *PACKAGES))
    if complete.exists() and complete.read_text() == wanted:
        return python
    venv.create(home, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    ran = subprocess.run(install, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    if ran.returncode:
        raise RuntimeError(f"the rivals' packages could not be installed into {home}:\n{ran.stderr[-2000:]}")
    complete.write_text(wanted)
    return python
