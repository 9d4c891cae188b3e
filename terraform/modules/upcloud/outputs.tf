# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id and own address of each VM, by instance key; its public one where it asked for that."
  value = {
    for k, r in upcloud_server.instance : k => merge(
      { id = r.id, address = r.network_interface[0].ip_address },
      {
        for word in var.instances[k].public_address ? ["public_address"] : [] :
        word => one([for n in r.network_interface : n.ip_address if n.type == "public"])
      },
    )
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key; a VM's own disk has its key."
  value = merge(
    { for k, r in upcloud_storage.volume : k => { id = r.id } },
    { for k, r in terraform_data.volume_own : k => { id = r.output } },
  )
}

output "addresses" {
  description = "Address of each node that owns one, by node."
  value       = { for k, r in terraform_data.address : k => r.output }
}
