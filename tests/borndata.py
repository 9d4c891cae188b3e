"""What a VM of a cloud is born with, as cloud-init reads it."""

import yaml


def files_of(user_data: str) -> dict[str, str]:
    """Path -> content of what cloud-init is to write on a VM that is born with this."""
    assert user_data.startswith("#cloud-config\n")
    return {file["path"]: file["content"] for file in yaml.safe_load(user_data)["write_files"]}
