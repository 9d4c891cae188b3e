# A subnet per zone: in Azure a subnet spans the zones of its region, so the zones of a spec are told apart by address all
# the same. Which way out there is (a NAT gateway, a peering, none) is not decided here: VMs get no public address unasked, and
# Azure's own hidden way out is closed.
locals {
  owner = { kedge-installation = var.installation_id, kedge-network = var.name }
  ipv6  = lookup(var.cloud, "ipv6", "false") == "true"

  # Azure gives no IPv6 range: a unique local one (RFC 4193) of this network's own, its 40 bits by a digest.
  digest     = sha256("${var.installation_id}/${var.name}/${var.region}")
  ipv6_range = format("fd%s:%s:%s::/48", substr(local.digest, 0, 2), substr(local.digest, 2, 4), substr(local.digest, 6, 4))

  # The last part of a zone's name says where it is, "1" or "fd0"; `cloud` may say otherwise with `zone_<zone>`.
  places  = { for zone in keys(var.zones) : zone => lookup(var.cloud, "zone_${zone}", reverse(split("-", zone))[0]) }
  domains = [for place in values(local.places) : tonumber(trimprefix(place, "fd")) if startswith(place, "fd")]
}

# Everything of this network, and the VMs, disks and network interfaces of the clusters on it. It cannot be deleted while
# anything is in it.
resource "azurerm_resource_group" "network" {
  name     = var.name
  location = var.region
  tags     = local.owner
}

resource "azurerm_virtual_network" "network" {
  name                = var.name
  location            = azurerm_resource_group.network.location
  resource_group_name = azurerm_resource_group.network.name
  address_space       = concat([var.cidr], local.ipv6 ? [local.ipv6_range] : [])
  tags                = local.owner
}

resource "azurerm_subnet" "zone" {
  for_each = var.zones

  name                 = each.key
  resource_group_name  = azurerm_resource_group.network.name
  virtual_network_name = azurerm_virtual_network.network.name
  address_prefixes = concat(
    [cidrsubnet(var.cidr, 4, each.value)],
    local.ipv6 ? [cidrsubnet(local.ipv6_range, 16, each.value)] : [],
  )
  default_outbound_access_enabled = false
}

# Where a region has no zones: a VM can be told its fault domain only as a member of such a set. It makes no VM itself.
resource "azurerm_orchestrated_virtual_machine_scale_set" "domains" {
  count = length(local.domains) > 0 ? 1 : 0

  name                        = "${var.name}-domains"
  location                    = azurerm_resource_group.network.location
  resource_group_name         = azurerm_resource_group.network.name
  platform_fault_domain_count = max(local.domains...) + 1
  single_placement_group      = false
  tags                        = local.owner
}
