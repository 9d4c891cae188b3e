"""Machine images: built from Debian's packages without a cloud, told apart by digests, judged by known vulnerabilities.

Why own steps around mmdebstrap, mke2fs and GRUB instead of mkosi: Debian 12's is version 14, from before it made disks
offline; later ones need a systemd-repart newer than Debian 12's (252), and pip finds none.
"""
