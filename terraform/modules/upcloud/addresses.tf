# UpCloud reserves no private address. What belongs to a node is the one it was given first, kept here for as long as the
# node is; each of its VMs is made with it, after the one before was deleted.
resource "terraform_data" "address" {
  for_each = var.addresses
  input    = each.value.address

  lifecycle {
    ignore_changes = all
  }
}

# Follows the VM that was made with the address, which says so in a label; refused for any other.
resource "terraform_data" "binding" {
  for_each = var.bindings
  input    = "${upcloud_server.instance[each.value.instance].id} ${terraform_data.address[each.value.node].output}"

  lifecycle {
    ignore_changes = all

    precondition {
      condition = (
        lookup(upcloud_server.instance[each.value.instance].labels, "kedge-address", "")
        == terraform_data.address[each.value.node].output
      )
      error_message = "An address binds only to a VM that is made with it, and this VM was made without."
    }
  }
}
