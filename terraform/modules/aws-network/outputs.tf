output "subnets" {
  description = "Zone -> subnet, as `subnets` of a region in `aws.yaml`."
  value       = { for zone, subnet in aws_subnet.zone : zone => subnet.id }
}

output "security_groups" {
  description = "As `security_groups` of a region in `aws.yaml`."
  value       = [aws_security_group.kafka.id]
}
