# Two networks. In the first each VM has an address of its own; which way out of it there is (a route to a gateway,
# none) is not decided here. The second holds the addresses that belong to nodes and pass from VM to VM: a VM gets into
# a network once, so passing one on needs a network that the next VM is not in yet. All VMs that own none are in its
# member range, to reach them.
locals {
  owner  = { kedge-installation = var.installation_id, kedge-network = var.name }
  own    = cidrsubnet(var.cidr, 1, 0)
  shared = cidrsubnet(var.cidr, 1, 1)
}

resource "hcloud_network" "own" {
  name     = var.name
  ip_range = local.own
  labels   = local.owner
}

resource "hcloud_network_subnet" "zone" {
  for_each = var.zones

  network_id   = hcloud_network.own.id
  type         = "cloud"
  network_zone = var.region
  ip_range     = cidrsubnet(local.own, 4, each.value)
}

resource "hcloud_network" "node" {
  name     = "${var.name}-nodes"
  ip_range = local.shared
  labels   = local.owner
}

resource "hcloud_network_subnet" "member" {
  network_id   = hcloud_network.node.id
  type         = "cloud"
  network_zone = var.region
  ip_range     = cidrsubnet(local.shared, 1, 0)
}

resource "hcloud_network_subnet" "node" {
  network_id   = hcloud_network.node.id
  type         = "cloud"
  network_zone = var.region
  ip_range     = cidrsubnet(local.shared, 1, 1)
}
