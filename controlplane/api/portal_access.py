"""Which of the server's doors a request came by: each serves its own callers and nobody else's.

| door | speaks | to whom |
|---|---|---|
| loopback | HTTP | people and programs of this machine, agents of its VMs |
| states | HTTP on loopback, a port the system chooses | Terraform's runs of this very server |
| agents | TLS by our own CA | agents of VMs elsewhere |
| people | TLS by a certificate of yours | people and programs elsewhere |
"""

from enum import StrEnum

from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.api.auth import AGENT_PATHS, API_PATHS, HEALTH_PATHS, OPEN_PATHS, RUN_PATHS
from controlplane.api.problems import ApiError

_KEY = "kedge.door"


_ABOUT = HEALTH_PATHS | {"/v1/version", "/v1/metrics"}
"""What a process that answers agents tells of itself."""


class Door(StrEnum):
    """See the table above."""

    LOOPBACK = "loopback"
    AGENTS = "agents"
    PEOPLE = "people"
    STATES = "states"


def at_door(app: ASGIApp, door: Door) -> ASGIApp:
    """The app as it is served there."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_KEY] = door
        await app(scope, receive, send)

    return served


def door_of(scope: Scope) -> Door:
    """The door of a request. TLS that nobody said more about is the agents'."""
    found: Door | None = scope.get(_KEY)
    return found or (Door.AGENTS if scope.get("scheme") == "https" else Door.LOOPBACK)


def wrong_door(door: Door, path: str) -> ApiError | None:
    """The refusal of a path that is not served there. None at the right door."""
    if door is Door.AGENTS and not path.startswith(AGENT_PATHS):
        then = "Ask on this machine, or through a tunnel to its loopback address."
        return ApiError(403, "agents-only", "only agents are served here", next_step=then)
    if (door is Door.STATES) is not path.startswith(RUN_PATHS):
        return ApiError(403, "states-apart", "Terraform's states have a door of their own, and nothing else is there")
    if door is Door.PEOPLE and path.startswith(AGENT_PATHS):
        return ApiError(403, "people-only", "only people are served here")
    return None


def other_part(part: str, door: Door, path: str) -> ApiError | None:
    """The refusal, where parts are processes of their own, of what another one serves. At a loop commands
    of its operator are served, on its machine and with the token of its home.
    """
    if part == "agents" and not path.startswith(AGENT_PATHS) and path not in _ABOUT:
        then = "Ask the server: `kedge server`, or `kedge server --only portal`. It has an address of its own."
        return ApiError(421, "agents-only", "only agents are served here, no people and no API", next_step=then)
    if part == "portal" and path.startswith(AGENT_PATHS):
        return ApiError(403, "people-only", "only people are served here", next_step="Agents call the loop.")
    is_own = path in OPEN_PATHS or path.startswith((*API_PATHS, AGENT_PATHS))
    if part == "loop" and door is Door.LOOPBACK and not is_own:
        then = "People are served by the portal: `kedge server --only portal`."
        return ApiError(403, "loop-only", "only the loop is here", next_step=then)
    return None
