"""DigitalOcean. Terraform makes and deletes Droplets, the SDK (pydo) reads them."""
