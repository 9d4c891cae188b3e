# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id and own address of each VM, by instance key."
  value = {
    for k, r in hcloud_server.instance : k => {
      id      = r.id
      address = one([for n in r.network : n.ip if tostring(n.network_id) == var.cloud["network"]])
    }
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key; a VM's own disk has its key."
  value = merge(
    { for k, r in hcloud_volume.volume : k => { id = r.id } },
    { for k, r in terraform_data.volume_own : k => { id = r.output } },
  )
}

output "addresses" {
  description = "Address of each node that owns one, by node."
  value       = { for k, r in terraform_data.address : k => r.output }
}
