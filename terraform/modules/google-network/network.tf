# One subnetwork per zone. Google's are regional: that a zone has one of its own is for people who read addresses. Which
# way out of it there is (NAT, a peering, none) is not decided here: VMs get no public address unasked, and without one the
# default route leads nowhere.
locals {
  description = "kedge ${var.installation_id}"
  ipv6        = lookup(var.cloud, "ipv6", "false") == "true"
}

resource "google_compute_network" "network" {
  name                    = var.name
  description             = local.description
  auto_create_subnetworks = false
  routing_mode            = "REGIONAL"
}

resource "google_compute_subnetwork" "zone" {
  for_each = var.zones

  name          = "${var.name}-${each.key}"
  description   = local.description
  network       = google_compute_network.network.id
  region        = var.region
  ip_cidr_range = cidrsubnet(var.cidr, 4, each.value)

  # External: addresses of the internet, from Google's own. What no rule allows is refused by IPv6 as well.
  stack_type       = local.ipv6 ? "IPV4_IPV6" : null
  ipv6_access_type = local.ipv6 ? "EXTERNAL" : null
}
