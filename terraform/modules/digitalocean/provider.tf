# The token comes from the environment of the run and nowhere else. DigitalOcean's provider cannot be told which account
# it must be of: Kedge asks that before each run.
provider "digitalocean" {}
