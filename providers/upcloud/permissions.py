"""What a sub-account needs of UpCloud: what of the account's own each call of Kedge or its module touches.

From "18. Permissions" and "3. Accounts" of UpCloud's API 1.3 (read 2026-11-23): a sub-account sees and uses what it was
granted, by type and id, and is given by itself what it creates. So what Kedge makes needs no grant, and what a person
made before, a network and a template, needs one by its id. The calls are those that were recorded
(tests/contract/test_cloud_policies.py). Nothing here was ever judged by UpCloud.
"""

from collections.abc import Mapping

OF_CALLS: Mapping[str, tuple[str, ...]] = {
    "GetAccount": (),
    "ListZones": (),
    "ListPlans": (),
    "ListPrices": (),
    "ListServers": (),
    "ListStorages": (),
    "ListIpAddresses": (),
    "GetServer": (),
    "ModifyServer": (),
    "ModifyStorage": (),
    "StopServer": (),
    "DeleteServer": (),
    "CreateStorage": (),
    "DeleteStorage": (),
    "AttachStorage": (),
    "GetStorage": ("storage",),
    "GetNetwork": ("network",),
    "GetServerGroup": ("server_group",),
    "CreateServer": ("network", "storage"),
}
"""Types of a person's things that a call uses; of Kedge's own it needs none."""

GRANTED: Mapping[str, str] = {
    "network": "the network of upcloud.yaml",
    "storage": "each template of upcloud.yaml that is your own",
}
"""What is granted by its id. No grant of that page is for a server group: nobody has tried whether it needs one."""


def permissions(user: str) -> Mapping[str, object]:
    """What `GET /permission` should say of that sub-account; the ids are yours to fill in."""
    asked = sorted({kind for kinds in OF_CALLS.values() for kind in kinds} & GRANTED.keys())
    granted = [{"target_type": kind, "target_identifier": f"ID of {GRANTED[kind]}", "user": user} for kind in asked]
    return {"permissions": {"permission": granted}}
