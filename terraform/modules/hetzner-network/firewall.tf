# Membership is a label, never a list of VMs: a new VM changes nothing here. Hetzner's firewalls see public traffic
# only, and VMs of Kedge have no public address: this one is for the day somebody gives one to a VM. What members and
# clients may do by private addresses is nftables in the boot data.
resource "hcloud_firewall" "kafka" {
  name   = "${var.name}-kafka"
  labels = local.owner

  dynamic "rule" {
    for_each = [for p in var.broker_ports : tostring(p) if length(var.clients) > 0]

    content {
      description = "clients of Kafka"
      direction   = "in"
      protocol    = "tcp"
      port        = rule.value
      source_ips  = var.clients
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
