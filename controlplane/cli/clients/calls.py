"""Calls about one cluster. An unknown name becomes an error that says which ones there are."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from controlplane.api.schemas import clusters as api
from controlplane.cli.clients.exchange import CONNECT_TIMEOUT_S, TIMEOUT_S, Exchange, part
from controlplane.cli.errors import CliError, Refused, UnknownCluster
from events.spec.suggestions import nearest

_NO_CLUSTER = "cluster-not-found"
"""A path of a cluster may name something else that is not there, and the server tells which."""
_T = TypeVar("_T")


class ApiCalls(Exchange):
    """What every area builds on. Methods raise Unreachable, Refused and CliError; those of a cluster UnknownCluster."""

    def clusters(self, *, timeout_s: float = TIMEOUT_S) -> list[api.ClusterOut]:
        """All living clusters, in short."""
        return self._whole("/clusters", list[api.ClusterOut], timeout_s=timeout_s)

    def get_of(
        self,
        name: str,
        tail: str,
        reply: type[_T],
        *,
        params: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> _T:
        """What `/clusters/NAME/TAIL` answers."""
        return self._of_cluster(name, lambda: self._get(_path(name, tail), reply, params=params, timeout_s=timeout_s))

    def whole_of(
        self, name: str, tail: str, reply: type[_T], of: str, *, params: Mapping[str, str] | None = None
    ) -> _T:
        """The same of a list that is the field `of`, all pages of it."""
        return self._of_cluster(name, lambda: self._whole(_path(name, tail), reply, of=of, params=params))

    def post_of(self, name: str, tail: str, body: BaseModel, reply: type[_T]) -> _T:
        """The same of something that is sent there."""
        return self._of_cluster(name, lambda: self._post(_path(name, tail), body, reply))

    def _of_cluster(self, name: str, ask: Callable[[], _T]) -> _T:
        try:
            return ask()
        except Refused as refused:
            if refused.code != _NO_CLUSTER:
                raise
            raise UnknownCluster(name, hint=self._hint(name)) from None

    def _hint(self, name: str) -> str:
        """Did you mean. The list is a courtesy: without it the error stays the one about the name."""
        try:
            known = [cluster.name for cluster in self.clusters(timeout_s=CONNECT_TIMEOUT_S)]
        except CliError:
            return "kedge get"
        meant = nearest(name, known)
        if meant is not None:
            return f"did you mean `{meant}`?"
        return "kedge get lists the clusters" if known else "no cluster is declared yet: kedge apply -f FILE"


def _path(name: str, tail: str = "") -> str:
    return f"/clusters/{part(name)}" + (f"/{tail}" if tail else "")
