"""What DigitalOcean's API shows of its things, in the shape of its reference."""

from typing import Any

VPC = "760e09ef-dc84-11e8-981e-3cfdfeaae000"


def told(action: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": action["id"],
        "status": action["status"],
        "type": action["type"],
        "started_at": "2026-11-22T06:00:00Z",
        "completed_at": "2026-11-22T06:00:01Z" if action["status"] == "completed" else None,
        "resource_id": action["droplet"],
        "resource_type": "backend",
        "region": action["region"],
        "region_slug": action["region"]["slug"],
    }


def account(team: str) -> dict[str, Any]:
    return {
        "droplet_limit": 1000,
        "floating_ip_limit": 5,
        "volume_limit": 100,
        "email": "kedge@example.com",
        "name": "kedge",
        "uuid": "b6fr89db-fe66-41c5-9e6a-a1a5ccd6bf3d".replace("r", "a"),
        "email_verified": True,
        "status": "active",
        "status_message": "",
        "team": {"uuid": team, "name": "kedge"},
    }


def region(slug: str) -> dict[str, Any]:
    return {"slug": slug, "name": slug.upper(), "available": True, "features": ["storage"], "sizes": ["g-2vcpu-8gb"]}


def tag_of(word: str) -> dict[str, Any]:
    none = {"count": 0}
    kinds = ("droplets", "images", "volumes", "volume_snapshots", "databases")
    return {"name": word, "resources": {**none, **{kind: dict(none) for kind in kinds}}}


def droplet_of(number: int, given: dict[str, Any], words: list[str]) -> dict[str, Any]:
    size, slug = given["size"], given["region"]
    address = f"10.10.{number >> 8 & 15}.{number & 255}"
    image = given["image"]
    return {
        "id": number,
        "name": given["name"],
        "memory": 8192,
        "vcpus": 2,
        "disk": 25,
        "locked": False,
        "status": "new",
        "kernel": None,
        "created_at": "2026-11-22T06:00:00Z",
        "features": ["private_networking", *(["ipv6"] if given.get("ipv6") else [])],
        "backup_ids": [],
        "next_backup_window": None,
        "snapshot_ids": [],
        "image": {"id": image if isinstance(image, int) else 1, "name": "kedge", "type": "snapshot", "slug": None},
        "volume_ids": [],
        "size": {
            "slug": size,
            "memory": 8192,
            "vcpus": 2,
            "disk": 25,
            "transfer": 4.0,
            "price_monthly": 0.0,
            "price_hourly": 0.0,
            "regions": [slug],
            "available": True,
            "description": "General Purpose",
        },
        "size_slug": size,
        "networks": {
            "v4": [
                {"ip_address": address, "netmask": "255.255.240.0", "gateway": "10.10.0.1", "type": "private"},
                {"ip_address": f"203.0.113.{number & 255}", "netmask": "255.255.255.0", "type": "public"},
            ],
            "v6": [
                {
                    "ip_address": f"2604:a880::{number >> 16:x}:{number & 0xFFFF:x}",
                    "netmask": 64,
                    "gateway": "2604:a880::1",
                    "type": "public",
                }
            ]
            if given.get("ipv6")
            else [],
        },
        "region": region(slug),
        "tags": words,
        "vpc_uuid": given.get("vpc_uuid") or VPC,
    }
