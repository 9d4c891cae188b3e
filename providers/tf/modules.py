"""Where the Terraform modules are: `terraform/modules` of a checkout, or inside the installed package."""

from pathlib import Path

import providers


def module_root() -> Path:
    """The folder with one module per cloud. Raises `FileNotFoundError` when the installation lost it."""
    package = Path(providers.__path__[0]).resolve()
    for candidate in (package.parent / "terraform" / "modules", package / "_terraform" / "modules"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"no Terraform modules beside or inside {package}: install Kedge again")
