# A network for the clusters of one account and region. Kedge applies it where it is to make networks; or a person does,
# once, and what it gives goes into `digitalocean.yaml`. Networks made by hand Kedge never changes.

variable "installation_id" {
  description = "Marks what belongs to one Kedge, as in the modules of the clusters."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,62}$", var.installation_id))
    error_message = "installation_id: 1-63 of a-z, 0-9 and '-', not starting with '-'."
  }
}

variable "name" {
  description = "Name of the network, for people."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,62}$", var.name))
    error_message = "name: 1-63 of a-z, 0-9 and '-', not starting with '-'."
  }
}

variable "region" {
  description = "Region of the network."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]*$", var.region))
    error_message = "region: a-z, 0-9 and '-'."
  }
}

variable "cidr" {
  description = "Addresses of the network. Networks that are to reach one another must not overlap; Kedge sees to that for those it makes."
  type        = string
  validation {
    condition     = can(cidrnetmask(var.cidr)) && tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 24
    error_message = "cidr: an IPv4 network of /16 to /24."
  }
}

variable "zones" {
  description = "Label -> number. DigitalOcean has no zones: labels are racks only people see, and no number is a subnet's."
  type        = map(number)
  validation {
    condition     = length(var.zones) >= 1 && alltrue([for n in values(var.zones) : n >= 0 && n <= 15 && floor(n) == n])
    error_message = "zones: at least one, each with a number of 0 to 15."
  }
  validation {
    condition     = length(distinct(values(var.zones))) == length(var.zones)
    error_message = "zones: each has a number of its own."
  }
  validation {
    condition     = alltrue([for zone in keys(var.zones) : can(regex("^[a-z0-9-]+$", zone))])
    error_message = "zones: labels of a-z, 0-9 and '-', as nyc3-a."
  }
}

variable "clients" {
  description = "Networks clients of Kafka come from, by CIDR. Without any, only members are let in."
  type        = set(string)
  default     = []
  validation {
    condition     = alltrue([for c in var.clients : can(cidrnetmask(c))])
    error_message = "clients: each is an IPv4 network, as 10.8.0.0/16."
  }
}

variable "cloud" {
  description = "DigitalOcean's own: `ipv6`, whether the firewall lets VMs out by it (false)."
  type        = map(string)
  default     = {}
  validation {
    condition     = length(setsubtract(keys(var.cloud), ["ipv6"])) == 0
    error_message = "cloud: DigitalOcean needs nothing here but `ipv6`."
  }
  validation {
    condition     = contains(["true", "false"], lookup(var.cloud, "ipv6", "false"))
    error_message = "cloud: `ipv6` must be true or false."
  }
}
