"""The part of the contract that is about the door of a pair's clusters; `agent.wire` has the whole of it."""

from typing import Literal

from pydantic import Field

from agent.wire_base import Wire

DoorWord = Literal["open", "shut", "none"]


class DoorDocument(Wire):
    """Whether clients get in at this VM. The cluster is one of a pair, or was."""

    pair: str = Field(description="uid of the pair: epochs are compared within it alone")
    state: DoorWord = Field(description="`none`: the cluster is of no pair any more, and what was made is taken away")
    epoch: int = Field(ge=0, description="of the order; one of an earlier epoch than the last is not followed")
    ports: tuple[int, ...] = Field(description="of listeners for clients")
    members: tuple[str, ...] = Field(
        description="networks that get in at a shut door: the cluster's nodes, what copies, servers of Kedge"
    )


class DoorReport(Wire):
    """What is in force."""

    pair: str
    state: DoorWord
    epoch: int
    in_force: bool = Field(description="the kernel has the rules; nothing else is proof")
    connections: int | None = Field(
        default=None, description="of clients, that still stand in a shut door; absent: nobody can count them"
    )
    problem: str = Field(default="", description="why it is not as the document says")
