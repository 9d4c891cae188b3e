"""ACLs of a cluster."""

from controlplane.api.schemas import acls as acl_api
from controlplane.cli.clients.calls import ApiCalls


class AclCalls(ApiCalls):
    def acls(self, name: str, *, match: str = "") -> acl_api.AclsOut:
        """Every ACL whose principal or name has that in it."""
        return self.whole_of(name, "acls", acl_api.AclsOut, of="acls", params={"q": match} if match else {})

    def explain_acl(
        self, name: str, *, user: str, resource: str, on: str, operation: str, host: str
    ) -> acl_api.AclExplainOut:
        """Whether a user may do something, and why."""
        params = {"user": user, "resource": resource, "on": on, "operation": operation, "host": host}
        return self.get_of(name, "acls/explain", acl_api.AclExplainOut, params=params)
