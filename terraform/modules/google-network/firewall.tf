# Membership is a network tag, never a list of VMs: a new VM changes nothing here. What no rule allows is refused; what
# goes out is allowed. Agents call the server, and nobody calls an agent. No rule opens SSH.
locals {
  tag    = "${var.name}-kafka"
  shared = [for p in var.broker_ports : tostring(p) if !contains(keys(var.port_clients), tostring(p))]
}

resource "google_compute_firewall" "members" {
  for_each = { brokers = var.broker_ports, controllers = var.member_ports }

  name        = "${var.name}-${each.key}"
  description = "${local.description}: ${each.key}, from members"
  network     = google_compute_network.network.id
  direction   = "INGRESS"
  source_tags = [local.tag]
  target_tags = [local.tag]

  allow {
    protocol = "tcp"
    ports    = [for p in each.value : tostring(p)]
  }
}

# Members in other places of their clusters: tags of another network say nothing here.
resource "google_compute_firewall" "peers" {
  for_each = { for name, ports in { brokers = var.broker_ports, controllers = var.member_ports } : name => ports if length(var.peers) > 0 }

  name          = "${var.name}-${each.key}-peers"
  description   = "${local.description}: ${each.key}, from members in another place"
  network       = google_compute_network.network.id
  direction     = "INGRESS"
  source_ranges = var.peers
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = [for p in each.value : tostring(p)]
  }
}

# Who keeps the clusters has to see them.
resource "google_compute_firewall" "servers" {
  for_each = { for name, ports in { kedge = var.server_ports } : name => ports if length(var.servers) > 0 }

  name          = "${var.name}-servers"
  description   = "${local.description}: servers of Kedge"
  network       = google_compute_network.network.id
  direction     = "INGRESS"
  source_ranges = var.servers
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = [for p in each.value : tostring(p)]
  }
}

resource "google_compute_firewall" "clients" {
  for_each = { for name, ports in { brokers = local.shared } : name => ports if length(var.clients) > 0 && length(ports) > 0 }

  name          = "${var.name}-clients"
  description   = "${local.description}: clients of Kafka"
  network       = google_compute_network.network.id
  direction     = "INGRESS"
  source_ranges = var.clients
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = each.value
  }
}

# Listeners with clients of their own.
resource "google_compute_firewall" "listeners" {
  for_each = { for port, clients in var.port_clients : port => clients if length(clients) > 0 }

  name          = "${var.name}-clients-${each.key}"
  description   = "${local.description}: clients of Kafka at ${each.key}"
  network       = google_compute_network.network.id
  direction     = "INGRESS"
  source_ranges = each.value
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = [each.key]
  }
}

# Tunnels of an overlay, and nothing else by UDP: from members, and where anybody may call from everywhere. A rule names
# networks of one version.
locals {
  tunnels = {
    members = { ports = var.overlay_ports, tags = [local.tag], from = null }
    peers   = { ports = length(var.peers) > 0 ? var.overlay_ports : [], tags = null, from = var.peers }
    anybody = { ports = var.open_overlay_ports, tags = null, from = ["0.0.0.0/0"] }
    ipv6    = { ports = local.ipv6 ? var.open_overlay_ports : [], tags = null, from = ["::/0"] }
  }
}

resource "google_compute_firewall" "overlay" {
  for_each = { for name, told in local.tunnels : name => told if length(told.ports) > 0 }

  name          = "${var.name}-overlay-${each.key}"
  description   = "${local.description}: tunnels of an overlay, from ${each.key}"
  network       = google_compute_network.network.id
  direction     = "INGRESS"
  source_tags   = each.value.tags
  source_ranges = each.value.from
  target_tags   = [local.tag]

  allow {
    protocol = "udp"
    ports    = [for p in each.value.ports : tostring(p)]
  }
}
