# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id (`<zone>/<name>/<number>`) and own address of each VM, by instance key; its public one where it asked for that."
  value = {
    for k, r in google_compute_instance.instance : k => merge(
      { id = "${r.zone}/${r.name}/${r.instance_id}", address = r.network_interface[0].network_ip },
      {
        for word in var.instances[k].public_address ? ["public_address"] : [] :
        word => r.network_interface[0].access_config[0].nat_ip
      },
    )
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key; a VM's own disk has its key."
  value = merge(
    { for k, r in google_compute_disk.volume : k => { id = r.id } },
    { for k, r in terraform_data.volume_own : k => { id = r.output } },
  )
}

output "addresses" {
  description = "Address of each node that owns one, by node."
  value       = { for k, r in google_compute_address.address : k => r.address }
}
