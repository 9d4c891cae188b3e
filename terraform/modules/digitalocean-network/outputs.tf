output "settings" {
  description = "As the region's section in `digitalocean.yaml`; images are added there."
  value = merge(
    {
      vpc          = digitalocean_vpc.network.id
      firewall_tag = digitalocean_tag.members.id
      racks        = sort(keys(var.zones))
    },
    { for word in local.ipv6 ? ["ipv6"] : [] : word => true }, # said only where there is
  )
}
