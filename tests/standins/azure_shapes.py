"""What the types of the stand-in for hashicorp/azurerm look like in Resource Manager: bodies, facts and paths."""

from typing import Any, Protocol

from tests.standins.kind import Values

COMPUTE, NETWORK = "Microsoft.Compute", "Microsoft.Network"


class Paths(Protocol):
    """Who knows the subscription."""

    def path(self, group: str, kind: str, name: str) -> str: ...


def machine_body(w: Values) -> Values:
    key = w["admin_ssh_key"][0]
    path = f"/home/{key['username']}/.ssh/authorized_keys"
    disk = w["os_disk"][0]
    security: Values = {"encryptionAtHost": bool(w["encryption_at_host_enabled"])}
    if w["secure_boot_enabled"] or w["vtpm_enabled"]:
        uefi = {"secureBootEnabled": bool(w["secure_boot_enabled"]), "vTpmEnabled": bool(w["vtpm_enabled"])}
        security |= {"securityType": "TrustedLaunch", "uefiSettings": uefi}
    properties: Values = {
        "hardwareProfile": {"vmSize": w["size"]},
        "osProfile": {
            "computerName": w["computer_name"] or w["name"],
            "adminUsername": w["admin_username"],
            "customData": w["custom_data"],
            "allowExtensionOperations": bool(w["allow_extension_operations"]),
            "linuxConfiguration": {
                "disablePasswordAuthentication": bool(w["disable_password_authentication"]),
                "ssh": {"publicKeys": [{"path": path, "keyData": key["public_key"]}]},
            },
        },
        "networkProfile": {
            "networkInterfaces": [
                {"id": nic, "properties": {"primary": n == 0}} for n, nic in enumerate(w["network_interface_ids"])
            ]
        },
        "securityProfile": security,
        "storageProfile": {
            "imageReference": {"id": w["source_image_id"]},
            "dataDisks": [],
            "osDisk": {
                "name": disk["name"],
                "caching": disk["caching"],
                "createOption": "FromImage",
                "managedDisk": {"storageAccountType": disk["storage_account_type"]},
            },
        },
    }
    if w["virtual_machine_scale_set_id"]:
        properties["virtualMachineScaleSet"] = {"id": w["virtual_machine_scale_set_id"]}
        properties["platformFaultDomain"] = int(w["platform_fault_domain"])
    if w["priority"] == "Spot":
        properties["priority"], properties["evictionPolicy"] = "Spot", w["eviction_policy"]
        properties["billingProfile"] = {"maxPrice": w["max_bid_price"]}
    if w.get("boot_diagnostics"):
        properties["diagnosticsProfile"] = {"bootDiagnostics": {"enabled": True}}
    return zoned(w, {"location": w["location"], "tags": w["tags"] or {}, "properties": properties})


def nic_body(w: Values) -> Values:
    def told(c: Values) -> Values:
        return {
            "name": c["name"],
            "properties": {
                "subnet": {"id": c["subnet_id"]},
                "privateIPAllocationMethod": c["private_ip_address_allocation"],
                **({"privateIPAddress": c["private_ip_address"]} if c["private_ip_address"] else {}),
                **({"privateIPAddressVersion": v} if (v := c["private_ip_address_version"]) else {}),
                **({"publicIPAddress": {"id": p}} if (p := c["public_ip_address_id"]) else {}),
            },
        }

    return body(
        w,
        ipConfigurations=[told(c) for c in w["ip_configuration"]],
        enableAcceleratedNetworking=bool(w["accelerated_networking_enabled"]),
    )


def nic_facts(there: Values) -> Values:
    told = private_addresses(there)
    return {
        "tags": there.get("tags", {}),
        "private_ip_address": told[0] if told else None,
        "private_ip_addresses": told,
        "virtual_machine_id": (there["properties"].get("virtualMachine") or {}).get("id"),
        "accelerated_networking_enabled": there["properties"].get("enableAcceleratedNetworking", False),
        "ip_configuration": [
            {
                "name": c["name"],
                "subnet_id": c["properties"]["subnet"]["id"],
                "private_ip_address": c["properties"].get("privateIPAddress"),
                "private_ip_address_allocation": c["properties"]["privateIPAllocationMethod"],
                "private_ip_address_version": c["properties"].get("privateIPAddressVersion"),
                "public_ip_address_id": (c["properties"].get("publicIPAddress") or {}).get("id"),
                "primary": n == 0,
            }
            for n, c in enumerate(there["properties"]["ipConfigurations"])
        ],
    }


def public_body(w: Values) -> Values:
    told = body(w, publicIPAllocationMethod=w["allocation_method"], publicIPAddressVersion=w["ip_version"] or "IPv4")
    return {**told, "sku": {"name": w["sku"]}}


def public_facts(there: Values) -> Values:
    return {
        "tags": there.get("tags", {}),
        "ip_address": there["properties"].get("ipAddress"),
        "allocation_method": there["properties"]["publicIPAllocationMethod"],
        "sku": there["sku"]["name"],
    }


def disk_body(w: Values) -> Values:
    told = body(
        w,
        creationData={"createOption": w["create_option"]},
        diskSizeGB=int(w["disk_size_gb"]),
        networkAccessPolicy=w["network_access_policy"],
        publicNetworkAccess="Enabled" if w["public_network_access_enabled"] else "Disabled",
    )
    figures = {"diskIOPSReadWrite": "disk_iops_read_write", "diskMBpsReadWrite": "disk_mbps_read_write"}
    told["properties"] |= {field: int(w[name]) for field, name in figures.items() if w.get(name) is not None}
    if w.get("disk_encryption_set_id"):
        told["properties"]["encryption"] = {"diskEncryptionSetId": w["disk_encryption_set_id"]}
    return zoned(w, {**told, "sku": {"name": w["storage_account_type"]}})


def disk_facts(there: Values) -> Values:
    return {
        "disk_size_gb": there["properties"]["diskSizeGB"],
        "disk_iops_read_write": there["properties"].get("diskIOPSReadWrite"),
        "disk_mbps_read_write": there["properties"].get("diskMBpsReadWrite"),
        "disk_encryption_set_id": there["properties"].get("encryption", {}).get("diskEncryptionSetId"),
        "storage_account_type": there.get("sku", {}).get("name"),
        "create_option": there["properties"].get("creationData", {}).get("createOption"),
        "zone": (there.get("zones") or [None])[0],
        "tags": there.get("tags", {}),
    }


def network_facts(there: Values) -> Values:
    return {"address_space": there["properties"]["addressSpace"]["addressPrefixes"], "tags": there.get("tags", {})}


def subnet_path(arm: Paths, w: Values) -> str:
    network = arm.path(w["resource_group_name"], f"{NETWORK}/virtualNetworks", w["virtual_network_name"])
    return f"{network}/subnets/{w['name']}"


def subnet_body(w: Values) -> Values:
    prefixes = list(w["address_prefixes"])
    own: Values = {"addressPrefix": prefixes[0]} if len(prefixes) == 1 else {"addressPrefixes": prefixes}
    return {"properties": {**own, "defaultOutboundAccess": bool(w["default_outbound_access_enabled"])}}


def subnet_facts(there: Values) -> Values:
    told = there["properties"]
    return {"address_prefixes": told.get("addressPrefixes") or [told["addressPrefix"]]}


def rule_path(arm: Paths, w: Values) -> str:
    group = arm.path(w["resource_group_name"], f"{NETWORK}/networkSecurityGroups", w["network_security_group_name"])
    return f"{group}/securityRules/{w['name']}"


def rule_body(w: Values) -> Values:
    return {
        "properties": {
            "priority": int(w["priority"]),
            "direction": w["direction"],
            "access": w["access"],
            "protocol": w["protocol"],
            "sourcePortRange": w["source_port_range"],
            "destinationPortRange": w["destination_port_range"],
            "sourceAddressPrefix": w["source_address_prefix"],
            "sourceAddressPrefixes": sorted(w["source_address_prefixes"] or []),
            "destinationAddressPrefix": w["destination_address_prefix"],
            "destinationAddressPrefixes": sorted(w["destination_address_prefixes"] or []),
        }
    }


def rule_facts(told: Values) -> Values:
    """Who is let in; the rest is as it was sent."""
    return {"source_address_prefixes": told["properties"].get("sourceAddressPrefixes") or None}


def body(w: Values, **properties: Any) -> Values:
    return {"location": w["location"], "tags": w["tags"] or {}, "properties": properties}


def zoned(w: Values, body: Values) -> Values:
    return {**body, "zones": [w["zone"]]} if w["zone"] else body


def private_addresses(nic: Values) -> list[str]:
    told = nic.get("properties", {}).get("ipConfigurations", [])
    return [c["properties"]["privateIPAddress"] for c in told if c["properties"].get("privateIPAddress")]
