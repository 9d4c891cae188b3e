# An address that belongs to a node is reserved in its subnetwork. A VM has it on its first interface from its birth to its
# end; Google gives it to no other VM while that one exists. So a handover deletes the old VM with the binding (release)
# and makes the next one with the address (bind).
#
# Labels of an address need a second call, so its owner is in the description, which goes with the first.
resource "google_compute_address" "address" {
  for_each = var.addresses

  name         = local.address_names[each.key]
  region       = var.region
  address_type = "INTERNAL"
  purpose      = "GCE_ENDPOINT"
  subnetwork   = var.cloud["subnetwork_${each.value.zone}"]
  address      = each.value.address
  description  = "kedge ${var.installation_id} ${var.cluster_uid} ${each.key}"

  lifecycle {
    ignore_changes = all
  }
}

# Stands for "that VM was made with that address". It is never made for a VM that was not.
resource "terraform_data" "binding" {
  for_each = var.bindings
  input    = "${google_compute_instance.instance[each.value.instance].name} ${google_compute_address.address[each.value.node].address}"

  lifecycle {
    ignore_changes = all

    precondition {
      condition = (
        google_compute_instance.instance[each.value.instance].network_interface[0].network_ip
        == google_compute_address.address[each.value.node].address
      )
      error_message = "binding ${each.key}: its VM was made with another address; only a new VM can have the node's."
    }
  }
}
