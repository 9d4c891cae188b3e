# Run in the root of an image when all packages are there: `finish.sh BIOS` (yes or no). Leaves nothing that is of this
# machine, of this hour or of chance, and /tmp/kedge-packages for the one who builds.
set -eu

dpkg-query -W -f '${binary:Package}=${Version}\n' | sort > /tmp/kedge-installed
xargs apt-cache show < /tmp/kedge-installed > /tmp/kedge-packages

if [ "$1" = yes ]; then
  # Finds its settings by the filesystem's label, so that one core fits every image.
  echo 'search --no-floppy --label --set=root kedge-root
set prefix=($root)/boot/grub' > /tmp/kedge-grub
  mkdir -p /boot/grub/i386-pc
  grub-mkimage -O i386-pc -p /boot/grub -c /tmp/kedge-grub -o /boot/grub/i386-pc/core.img \
    biosdisk part_gpt ext2 search search_label search_fs_uuid normal linux configfile boot all_video serial
  cp /usr/lib/grub/i386-pc/boot.img /boot/grub/i386-pc/
fi

@MAKE_USER@

# Images are replaced, VMs are not upgraded in place.
systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer man-db.timer
systemctl enable systemd-networkd.service systemd-resolved.service systemd-timesyncd.service

rm -f /etc/ssh/ssh_host_*_key /etc/ssh/ssh_host_*_key.pub /etc/hostname /etc/resolv.conf
rm -f /var/lib/dbus/machine-id /var/lib/systemd/random-seed /var/lib/systemd/credential.secret
: > /etc/machine-id
ln -s ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf

# What two builds of the same packages write differently. Python's compiled files are made anew, in one order, and for
# the agent too: a first boot would lose seconds by compiling.
python3 -I /tmp/kedge-settle-cacerts /etc/ssl/certs/java/cacerts
find / -xdev -name __pycache__ -prune -exec rm -rf {} +
python3 -I -m compileall -q --invalidation-mode checked-hash /usr/lib/python3 /usr/lib/python3.11 /opt/kedge/agent
find /var/log /var/cache/apt /var/cache/ldconfig /var/lib/apt/lists -type f -delete
rm -f /etc/apt/preferences.d/kedge /etc/dpkg/dpkg.cfg.d/99mmdebstrap /var/lib/dpkg/*-old /var/cache/debconf/*-old
rm -f /tmp/kedge-grub /tmp/kedge-installed
