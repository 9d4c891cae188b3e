output "settings" {
  description = "The region's section in `aws.yaml`, images left out."
  value = merge(
    {
      subnets         = { for zone, subnet in aws_subnet.zone : zone => subnet.id }
      security_groups = [aws_security_group.kafka.id]
    },
    { for word in local.ipv6 ? ["ipv6"] : [] : word => true }, # said only where there is
  )
}
