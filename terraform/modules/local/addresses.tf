# An address that belongs to a node: bound to one of its instances at a time, handed to the next one.
resource "terraform_data" "address" {
  for_each = var.addresses
  input    = merge(local.owner, { key = each.key, node = each.key }, each.value)

  provisioner "local-exec" {
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "create-address"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "destroy-address"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  lifecycle {
    ignore_changes = [input]
  }
}

resource "terraform_data" "binding" {
  for_each = var.bindings
  input    = merge(local.owner, { key = each.key }, each.value)

  provisioner "local-exec" {
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "bind"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "unbind"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  depends_on = [terraform_data.instance, terraform_data.address]

  lifecycle {
    ignore_changes = [input]
  }
}
