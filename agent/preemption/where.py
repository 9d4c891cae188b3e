"""Which cloud this machine says it is of: what the firmware tells, as cloud-init looks at it too (ds-identify)."""

from pathlib import Path

DMI = Path("/sys/class/dmi/id")

_AZURE_CHASSIS = "7783-7084-3265-9085-8269-3286-77"
"""Azure's own; every Hyper-V machine has the same vendor."""


def cloud_of(dmi: Path) -> str:
    """`aws`, `google` or `azure`; empty for any other machine."""
    vendor, product = _word(dmi / "sys_vendor"), _word(dmi / "product_name")
    if vendor == "Amazon EC2":
        return "aws"
    if product == "Google Compute Engine":
        return "google"
    return "azure" if _word(dmi / "chassis_asset_tag") == _AZURE_CHASSIS else ""


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
