"""Writes docs/clouds/policies: what the credentials of an account need, from each cloud's own table of permissions.

python -m providers.policies
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from providers import tags
from providers.aws import permissions as aws
from providers.azure import permissions as azure
from providers.digitalocean import permissions as digitalocean
from providers.google import permissions as google
from providers.upcloud import permissions as upcloud

FOLDER = Path(__file__).parents[1] / "docs" / "clouds" / "policies"


def policies() -> Mapping[str, str]:
    """Text of each file by its name."""
    role = _azure_role(
        "Kedge",
        "What Kedge and its module call. Assign it on the resource group and on the networks' group.",
        azure.needed(),
    )
    networks = _azure_role(
        "Kedge networks",
        "What Kedge and its module for networks call beside. Assign it on the subscription.",
        azure.needed_for_networks(),
    )
    custom = _google_role("Kedge", "What Kedge and its module call in a project.", google.needed())
    custom_networks = _google_role(
        "Kedge networks",
        "What Kedge and its module for networks call in a project beside.",
        google.needed_for_networks(),
    )
    return {
        "aws.json": json.dumps(aws.policy(tags.INSTALLATION), indent=2) + "\n",
        "aws-networks.json": json.dumps(aws.network_policy(tags.INSTALLATION), indent=2) + "\n",
        "azure.json": json.dumps(role, indent=2) + "\n",
        "azure-networks.json": json.dumps(networks, indent=2) + "\n",
        "digitalocean.yaml": yaml.safe_dump({"scopes": list(digitalocean.needed())}, sort_keys=False),
        "digitalocean-networks.yaml": yaml.safe_dump(
            {"scopes": list(digitalocean.needed_for_networks())}, sort_keys=False
        ),
        "google.yaml": yaml.safe_dump(custom, sort_keys=False),
        "google-networks.yaml": yaml.safe_dump(custom_networks, sort_keys=False),
        "upcloud.json": json.dumps(upcloud.permissions("kedge"), indent=2) + "\n",
    }


def _azure_role(name: str, description: str, actions: Sequence[str]) -> Mapping[str, object]:
    return {
        "Name": name,
        "IsCustom": True,
        "Description": description,
        "Actions": list(actions),
        "NotActions": [],
        "AssignableScopes": ["/subscriptions/00000000-0000-0000-0000-000000000000"],
    }


def _google_role(title: str, description: str, permissions: Sequence[str]) -> Mapping[str, object]:
    return {"title": title, "description": description, "stage": "GA", "includedPermissions": list(permissions)}


def write(folder: Path = FOLDER) -> None:
    """The files as they should be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in policies().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write()
