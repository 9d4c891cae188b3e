# A VPC is one flat network in one region: DigitalOcean has neither zones nor subnets.
resource "digitalocean_vpc" "network" {
  name        = "${var.name}-${var.region}"
  region      = var.region
  ip_range    = var.cidr
  description = "kedge ${var.installation_id}"
}
