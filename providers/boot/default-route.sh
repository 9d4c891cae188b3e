# A private network at Hetzner gives no default route (since 2025-08-11): all that is not in it goes to its gateway, by
# which $1, an address of that network, is reached. A VM that has a default route keeps it.
ip -4 route show default | grep -q . && exit 0
set -- $(ip -4 -o route get "$1")
[ "$2 $4" = "via dev" ] || exit 1
ip -4 route add default via "$3" dev "$5" onlink
