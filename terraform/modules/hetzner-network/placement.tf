# VMs of one group stand on different hosts. A group holds ten; Kedge fills one after the other, zones in turn, so that
# each mixes all racks of a cluster.
resource "hcloud_placement_group" "spread" {
  for_each = toset([for n in range(tonumber(lookup(var.cloud, "placement_groups", "5"))) : tostring(n + 1)])

  name   = "${var.name}-${each.key}"
  type   = "spread"
  labels = local.owner
}
