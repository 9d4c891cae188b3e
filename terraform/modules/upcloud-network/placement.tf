# Spreads all VMs of the network over hosts, whatever rack they are labelled with. UpCloud looks at it when a VM starts
# and never again.
resource "upcloud_server_group" "spread" {
  title                = var.name
  anti_affinity_policy = lookup(var.cloud, "anti_affinity", "yes")
  track_members        = false
  labels               = local.owner
}
