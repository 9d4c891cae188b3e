# DigitalOcean gives a private address to a VM for its life and hands it to no other; its reserved addresses are public.
# So no node owns an address here: whoever asks for one is told so, and nothing is made that only looks like one.
resource "terraform_data" "address" {
  for_each = var.addresses
  input    = each.key

  lifecycle {
    precondition {
      condition     = length(var.addresses) == 0
      error_message = "DigitalOcean hands no private address to another VM; give brokers the new bootstrap list instead."
    }
  }
}

resource "terraform_data" "binding" {
  for_each = var.bindings
  input    = each.key

  lifecycle {
    precondition {
      condition     = length(var.bindings) == 0
      error_message = "DigitalOcean hands no private address to another VM; give brokers the new bootstrap list instead."
    }
  }
}
