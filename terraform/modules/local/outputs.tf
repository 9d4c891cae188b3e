# The module contract (terraform/README.md): the same outputs on every cloud.

output "instances" {
  description = "Cloud id and own address of each VM, by instance key."
  value = {
    for k, r in terraform_data.instance :
    k => { id = "${r.output.cluster_uid}/${k}", address = r.output.address }
  }
}

output "volumes" {
  description = "Cloud id of each disk, by volume key."
  value       = { for k, r in terraform_data.volume : k => { id = "${r.output.cluster_uid}/${k}" } }
}

output "addresses" {
  description = "Address of each node that owns one, by node."
  value       = { for k, r in terraform_data.address : k => r.output.address }
}
