output "settings" {
  description = "What the region's section of `google.yaml` needs of this network."
  value = {
    subnetworks  = { for zone, subnetwork in google_compute_subnetwork.zone : zone => subnetwork.id }
    network_tags = [local.tag]
  }
}
