# An address that belongs to a node is a fixed one in the node network, where nobody else gets one by chance: Kedge
# chooses it once, and this keeps it. Binding attaches a VM to that network with it; the VM stays as it is.
resource "terraform_data" "address" {
  for_each = var.addresses
  input    = each.value.address

  lifecycle {
    ignore_changes = all
  }
}

resource "hcloud_server_network" "binding" {
  for_each = var.bindings

  server_id = hcloud_server.instance[each.value.instance].id
  subnet_id = "${var.cloud["node_network"]}-${var.cloud["node_range"]}"
  ip        = terraform_data.address[each.value.node].output

  lifecycle {
    ignore_changes = all
  }
}
