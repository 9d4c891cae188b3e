"""What a person types about a network. Pure, and cheap to import: the command line names these, too."""


def try_now(name: str, account: str, region: str, *, is_removed: bool) -> str:
    """To have tried at once what failed of it."""
    verb = "remove" if is_removed else "repair"
    return f"kedge networks {verb} {name} --account {account} --region {region}"
