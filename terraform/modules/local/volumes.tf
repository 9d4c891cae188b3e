# A volume is a directory that outlives VMs; an attachment shows it inside one VM. Attachments are resources of their
# own, so that a handover can delete one and create the next without touching either the VM or the disk.
resource "terraform_data" "volume" {
  for_each = var.volumes
  input    = merge(local.owner, { key = each.key }, each.value)

  provisioner "local-exec" {
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "create-volume"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "destroy-volume"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  lifecycle {
    ignore_changes = [input] # grows: [input.python, input.root]
  }
}

resource "terraform_data" "attachment" {
  for_each = var.attachments
  input    = merge(local.owner, { key = each.key }, each.value)

  provisioner "local-exec" {
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "attach"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "detach"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  depends_on = [terraform_data.instance, terraform_data.volume]

  lifecycle {
    ignore_changes = [input]
  }
}
