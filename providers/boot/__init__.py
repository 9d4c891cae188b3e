"""What a VM of a real cloud is born with: files for cloud-init."""
