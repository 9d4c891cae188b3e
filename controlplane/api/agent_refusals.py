"""What an agent is told that is not served, and what it is to do: what runs goes on unless its instance is over."""

from controlplane.api.problems import ApiError
from controlplane.storage.agent_credentials import Vm


def not_leading() -> ApiError:
    """Another server leads, or this one does soon."""
    title, then = "this server does not lead", "Ask again: the leader answers, or this one leads soon."
    return ApiError(503, "not-leading", title, next_step=then, retry_after_s=1)


def no_document() -> ApiError:
    """Nothing is known of the instance here, which may well be alive."""
    then = "Keep running what runs."
    return ApiError(404, "no-document", "there is no document for this instance here", next_step=then)


def gone(vm: Vm) -> ApiError:
    """The instance is over."""
    title = f"{vm.node}.g{vm.generation} is retired"
    return ApiError(410, "retired", title, next_step="Stop the services and stay down.")
