# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id and private address of each VM, by instance key; of who asks the public one that every Droplet has."
  value = {
    for k, r in digitalocean_droplet.instance : k => merge(
      { id = r.id, address = r.ipv4_address_private },
      { for word in var.instances[k].public_address ? ["public_address"] : [] : word => r.ipv4_address },
    )
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key; a VM's own disk has its key."
  value = merge(
    { for k, r in digitalocean_volume.volume : k => { id = r.id } },
    { for k, r in terraform_data.volume_own : k => { id = r.output } },
  )
}

output "addresses" {
  description = "Address of each node that owns one, by node: there is none on DigitalOcean."
  value       = {}
}
