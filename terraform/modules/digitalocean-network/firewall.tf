# Membership is a tag, never a list of VMs: a new VM changes nothing here. Every VM has a public address, which cannot be
# had without; nothing is let in there but what is named below, and that is asked for by tag and by network.
locals {
  ipv6     = lookup(var.cloud, "ipv6", "false") == "true"
  anywhere = concat(["0.0.0.0/0"], local.ipv6 ? ["::/0"] : [])
  ports    = setunion(var.broker_ports, var.member_ports)
  let_in   = { for p in var.broker_ports : tostring(p) => lookup(var.port_clients, tostring(p), var.clients) }
  # One range where it is Kafka's own two, as in the states of releases that knew no others.
  inward = local.ports == toset([9092, 9093]) ? ["9092-9093"] : [for p in local.ports : tostring(p)]
}

resource "digitalocean_tag" "members" {
  name = "kedge-network:${var.installation_id}-${var.name}-${var.region}"
}

resource "digitalocean_firewall" "kafka" {
  name = "${var.name}-${var.region}-kafka"
  tags = [digitalocean_tag.members.id]

  dynamic "inbound_rule" {
    for_each = local.inward
    content {
      protocol    = "tcp"
      port_range  = inbound_rule.value
      source_tags = [digitalocean_tag.members.id]

      source_addresses = length(var.peers) > 0 ? var.peers : null # members in other places of their clusters
    }
  }

  dynamic "inbound_rule" {
    for_each = { for port, clients in local.let_in : port => clients if length(clients) > 0 }
    content {
      protocol         = "tcp"
      port_range       = inbound_rule.key
      source_addresses = inbound_rule.value
    }
  }

  # Who keeps the clusters has to see them.
  dynamic "inbound_rule" {
    for_each = [for p in var.server_ports : tostring(p) if length(var.servers) > 0]
    content {
      protocol         = "tcp"
      port_range       = inbound_rule.value
      source_addresses = var.servers
    }
  }

  # Tunnels of an overlay, and nothing else by UDP: from members, and where anybody may call from everywhere.
  dynamic "inbound_rule" {
    for_each = [for p in var.overlay_ports : tostring(p)]
    content {
      protocol         = "udp"
      port_range       = inbound_rule.value
      source_tags      = [digitalocean_tag.members.id]
      source_addresses = length(var.peers) > 0 ? var.peers : null
    }
  }

  dynamic "inbound_rule" {
    for_each = [for p in var.open_overlay_ports : tostring(p)]
    content {
      protocol         = "udp"
      port_range       = inbound_rule.value
      source_addresses = local.anywhere
    }
  }

  # To members, to the server of Kedge, to the mirror of Kafka. Agents call the server, and nobody calls an agent.
  dynamic "outbound_rule" {
    for_each = ["tcp", "udp"]
    content {
      protocol              = outbound_rule.value
      port_range            = "1-65535"
      destination_addresses = local.anywhere
    }
  }

  outbound_rule {
    protocol              = "icmp"
    destination_addresses = local.anywhere
  }
}
