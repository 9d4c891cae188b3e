# One private network for all racks of a region: UpCloud has no zones below its own, and members reach one another without
# a router between. Which way out there is (a gateway, a peering, none) is not decided here: VMs have no public address
# but who asks for one.
#
# It is no wall. UpCloud's firewall is one of each server, for its public and utility interfaces, and does not see a
# private network (upcloud_firewall_rules, 5.41.0); VMs of clusters have no other interface, but who
# asks for a public one, where that firewall stays off. So each VM filters packets by
# itself, with nftables: who is in this network is a member, and clients are let in by their CIDRs, which are told on here.
locals {
  owner = { kedge-installation = var.installation_id, kedge-network = var.name }
}

resource "upcloud_router" "network" {
  name   = var.name
  labels = local.owner
}

resource "upcloud_network" "network" {
  name   = var.name
  zone   = var.region
  router = upcloud_router.network.id
  labels = local.owner

  ip_network {
    address            = var.cidr
    family             = "IPv4"
    dhcp               = true
    dhcp_default_route = false
  }
}
