# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id and own address of each VM, by instance key; its public one where it asked for that."
  value = {
    for k, r in aws_instance.instance : k => merge(
      { id = r.id, address = r.private_ip },
      { for word in var.instances[k].public_address ? ["public_address"] : [] : word => r.public_ip },
    )
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key; a VM's own disk has its key."
  value = merge(
    { for k, r in aws_ebs_volume.volume : k => { id = r.id } },
    { for k, r in terraform_data.volume_own : k => { id = r.output } },
  )
}

output "addresses" {
  description = "Address of each node that owns one, by node."
  value       = { for k, r in aws_network_interface.address : k => r.private_ip }
}
