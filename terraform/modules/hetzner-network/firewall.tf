# Membership is a label, never a list of VMs: a new VM changes nothing here. Hetzner's firewalls see public traffic
# only, and VMs of Kedge have no public address: this one is for the day somebody gives one to a VM. What members and
# clients may do by private addresses is nftables in the boot data.
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

  apply_to {
    label_selector = "kedge-installation=${var.installation_id}"
  }
}
