"""Which waits only a person ends: reasons of `Blocked`, as `docs/operating.md` marks them."""

NEXT = "Next: "
"""What stands before the command in a condition's message."""

_FOR_A_PERSON = frozenset(
    {
        "AddressStays",
        "ConfigurationRefused",
        "ControllerStays",
        "ControllersRemembered",
        "CopiesGone",
        "DowngradeBlocked",
        "DrainNotConverging",
        "ExternalMismatch",
        "ExternalQuorumStatic",
        "HealingOff",
        "Held",
        "HistoryUnreadable",
        "ImageWithdrawn",
        "ListingLostRacks",
        "MetadataLost",
        "MigrationBlocked",
        "MigrationStuck",
        "NoReceiver",
        "NoRoom",
        "Paused",
        "PermissionMissing",
        "ReplacementFailed",
        "RestartReverted",
        "RunRefused",
        "SettingRefused",
        "SettingReverted",
        "StrangeEnsemble",
        "UnknownVoter",
    }
)

_ONCE_GIVEN_UP = frozenset({"RestartFailed", "RunFailed"})
"""Tried again by itself at first; with a command once it is not any more."""


def is_for_a_person(reason: str, message: str) -> bool:
    """Whether a wait with this reason does not end by itself."""
    return reason in _FOR_A_PERSON or (reason in _ONCE_GIVEN_UP and NEXT in message)
