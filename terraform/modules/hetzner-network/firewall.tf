# Membership is a label, never a list of VMs: a new VM changes nothing here. Hetzner's firewalls see public traffic
# only: this one is for VMs whose pools ask for a public address, or that somebody gives one. What members and clients
# may do by private addresses, tunnels of an overlay among it, is nftables in the boot data.
locals {
  let_in = { for p in var.broker_ports : tostring(p) => lookup(var.port_clients, tostring(p), var.clients) }
}

resource "hcloud_firewall" "kafka" {
  name   = "${var.name}-kafka"
  labels = local.owner

  dynamic "rule" {
    for_each = { for port, clients in local.let_in : port => clients if length(clients) > 0 }

    content {
      description = "clients of Kafka"
      direction   = "in"
      protocol    = "tcp"
      port        = rule.key
      source_ips  = rule.value
    }
  }

  dynamic "rule" {
    for_each = [for p in var.server_ports : tostring(p) if length(var.servers) > 0]

    content {
      description = "servers of Kedge"
      direction   = "in"
      protocol    = "tcp"
      port        = rule.value
      source_ips  = var.servers
    }
  }

  dynamic "rule" {
    for_each = [for p in var.open_overlay_ports : tostring(p)]

    content {
      description = "tunnels of an overlay"
      direction   = "in"
      protocol    = "udp"
      port        = rule.value
      source_ips  = ["0.0.0.0/0", "::/0"]
    }
  }

  apply_to {
    label_selector = "kedge-installation=${var.installation_id}"
  }
}
