# An address that belongs to a node is a network interface of its own, and the only one of whichever VM has it now. Azure
# keeps the address for as long as the interface stands, on a VM or not; the recorded one is asked for, else it chooses.
resource "azurerm_network_interface" "address" {
  for_each = var.addresses

  name                           = local.names[each.key]
  location                       = var.region
  resource_group_name            = var.cloud["resource_group"]
  accelerated_networking_enabled = true
  tags                           = lookup(var.retags, "address/${each.key}", merge(local.owner, each.value.cost_tags, { kedge-node = each.key }))

  ip_configuration {
    name                          = "node"
    subnet_id                     = var.cloud["subnet_${each.value.zone}"]
    private_ip_address_allocation = each.value.address == null ? "Dynamic" : "Static"
    private_ip_address            = each.value.address
  }

  lifecycle {
    ignore_changes = all
  }
}

# The VM was created with the interface; this only names the fact, because a run names it. A binding can come and go with
# its VM alone: without it in the rendered set the VM would want an interface of its own, and the guard refuses that.
resource "terraform_data" "binding" {
  for_each = var.bindings
  input    = azurerm_network_interface.address[each.value.node].id

  depends_on = [azurerm_linux_virtual_machine.instance]

  lifecycle {
    ignore_changes = all
  }
}
