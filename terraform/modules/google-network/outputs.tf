output "settings" {
  description = "What the region's section of `google.yaml` needs of this network."
  value = merge(
    {
      subnetworks  = { for zone, subnetwork in google_compute_subnetwork.zone : zone => subnetwork.id }
      network_tags = [local.tag]
    },
    { for word in local.ipv6 ? ["ipv6"] : [] : word => true }, # said only where there is
  )
}
