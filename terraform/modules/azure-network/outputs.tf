output "settings" {
  description = "What the section of the region in `azure.yaml` needs of this network."
  value = merge(
    {
      resource_group = azurerm_resource_group.network.name
      zones = {
        for zone, subnet in azurerm_subnet.zone : zone => { place = local.places[zone], subnet = subnet.id }
      }
      scale_set = try(azurerm_orchestrated_virtual_machine_scale_set.domains[0].id, null)
    },
    { for word in local.ipv6 ? ["ipv6"] : [] : word => true }, # said only where there is
  )
}
