"""Names of resources: Terraform's address on one side, `<resource>/<key>` of a run on the other."""

WORDS = ("instance", "volume", "attachment", "address", "binding")
"""Resource names of the module contract (terraform/README.md)."""


def target_of(*, address: str, name: str, key: object) -> str:
    """`instance/brokers-a-0.g1` for `module.kedge.<type>.instance["brokers-a-0.g1"]`.

    A cloud that needs several resources for one word names them `<word>_<part>`: they share the target. What
    fits no word keeps Terraform's address, which no run ever names, so a change to it is refused.
    """
    word = name.partition("_")[0]
    return f"{word}/{key}" if word in WORDS and isinstance(key, str) else address
