"""What the cloud tells a VM alone: that it is going to be taken back, and when."""
