"""What a token needs of a DigitalOcean team: the scopes of each call that Kedge or its module makes.

From `security` of each path in DigitalOcean's OpenAPI document (github.com/digitalocean/openapi, commit 7c1300c of
2026-08-07), and what a scope requires beside it from its page "Scopes for API Tokens" (read 2026-11-23). The calls are
those that were recorded (tests/contract/test_cloud_policies.py). No call tells a token's scopes, so nothing checks
them. For volumes the document names `api:read` and `api:write` too, and nowhere what they give: they are not here.
"""

from collections.abc import Mapping

from providers.permissions import of_all

OF_CALLS: Mapping[str, tuple[str, ...]] = {
    "GET /v2/account": ("account:read",),
    "GET /v2/regions": ("regions:read",),
    "GET /v2/images/*": ("image:read",),
    "GET /v2/vpcs/*": ("vpc:read",),
    "GET /v2/actions/*": ("actions:read",),
    "GET /v2/droplets": ("droplet:read",),
    "GET /v2/droplets/*": ("droplet:read",),
    "POST /v2/droplets": ("droplet:create", "tag:create", "block_storage:read", "vpc:read", "ssh_key:read"),
    "DELETE /v2/droplets/*": ("droplet:delete",),
    "GET /v2/volumes": ("block_storage:read",),
    "GET /v2/volumes/*": ("block_storage:read",),
    "POST /v2/volumes": ("block_storage:create", "tag:create"),
    "DELETE /v2/volumes/*": ("block_storage:delete",),
    "POST /v2/volumes/*/actions": ("block_storage_action:create",),
    "POST /v2/tags": ("tag:create", "tag:read"),
    "POST /v2/tags/*/resources": ("tag:create",),
}

OF_NETWORKS: Mapping[str, tuple[str, ...]] = {
    "GET /v2/account": ("account:read",),
    "GET /v2/vpcs/*": ("vpc:read",),
    "POST /v2/vpcs": ("vpc:create", "vpc:read"),
    "DELETE /v2/vpcs/*": ("vpc:delete",),
    "GET /v2/tags/*": ("tag:read",),
    "POST /v2/tags": ("tag:create", "tag:read"),
    "DELETE /v2/tags/*": ("tag:delete",),
    "GET /v2/firewalls/*": ("firewall:read",),
    "POST /v2/firewalls": ("firewall:create", "droplet:read", "tag:read"),
    "PUT /v2/firewalls/*": ("firewall:update", "droplet:read", "tag:read"),
    "DELETE /v2/firewalls/*": ("firewall:delete",),
}
"""For networks that Kedge makes, beside the others. Of a firewall its page names the scopes of what it is put on."""

BESIDE = ("actions:read", "block_storage_action:read", "image:read", "regions:read", "sizes:read", "tag:read")
"""Scopes that others cannot be had without."""


def needed() -> tuple[str, ...]:
    """Every scope, sorted."""
    return of_all(OF_CALLS, BESIDE)


def needed_for_networks() -> tuple[str, ...]:
    """Every scope to make, change and remove a network, sorted."""
    return of_all(OF_NETWORKS, BESIDE)
