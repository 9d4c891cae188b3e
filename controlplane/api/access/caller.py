"""Who asks, as a parameter of routes: what the gate has found out before them."""

from typing import Annotated

from fastapi import Depends, Request

from controlplane.api.access.rights import Rights


def caller(request: Request) -> Rights:
    """Who asks. The gate has found out."""
    rights: Rights = request.state.rights
    return rights


async def _caller(request: Request) -> Rights:
    """In the loop, as `Services` is."""
    return caller(request)


Caller = Annotated[Rights, Depends(_caller)]
