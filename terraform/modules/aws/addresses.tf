# An address that belongs to a node is a network interface of its own: the second one of whichever VM has it now. A
# primary interface could pass on only by making the VM anew.
resource "aws_network_interface" "address" {
  for_each = var.addresses

  subnet_id       = var.cloud["subnet_${each.value.zone}"]
  private_ips     = each.value.address == null ? null : [each.value.address]
  security_groups = local.security_groups
  description     = "kedge ${var.cluster_name} ${each.key}"
  tags = lookup(var.retags, "address/${each.key}", merge(
    local.owner, each.value.cost_tags, { kedge-node = each.key, Name = "${var.cluster_name}-${each.key}" },
  ))

  lifecycle {
    ignore_changes = all
  }
}

resource "aws_network_interface_attachment" "binding" {
  for_each = var.bindings

  instance_id          = aws_instance.instance[each.value.instance].id
  network_interface_id = aws_network_interface.address[each.value.node].id
  device_index         = 1

  lifecycle {
    ignore_changes = all
  }
}
