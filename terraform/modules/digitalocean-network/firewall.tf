# Membership is a tag, never a list of VMs: a new VM changes nothing here. Every VM has a public address, which cannot be
# had without; nothing is let in there but what is named below, and that is asked for by tag and by network.
locals {
  ipv6     = lookup(var.cloud, "ipv6", "false") == "true"
  anywhere = concat(["0.0.0.0/0"], local.ipv6 ? ["::/0"] : [])
}

resource "digitalocean_tag" "members" {
  name = "kedge-network:${var.installation_id}-${var.name}-${var.region}"
}

resource "digitalocean_firewall" "kafka" {
  name = "${var.name}-${var.region}-kafka"
  tags = [digitalocean_tag.members.id]

  inbound_rule {
    protocol    = "tcp"
    port_range  = "9092-9093"
    source_tags = [digitalocean_tag.members.id]
  }

  dynamic "inbound_rule" {
    for_each = length(var.clients) > 0 ? [var.clients] : []
    content {
      protocol         = "tcp"
      port_range       = "9092"
      source_addresses = inbound_rule.value
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
