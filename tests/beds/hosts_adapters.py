"""Further adapters of hosts on one network: macvlans of an adapter that a host has."""
from hosts_programs import on


def add_adapters(host, parent, addresses):
    """`addresses`: by the adapter's name. As lapi(7) says of several adapters of one subnet: each answers for its own
    address only."""
    script = "sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"
    for name, address in addresses.items():
        script += (f" && ip link add name {name} link {parent} type macvlan mode bridge"
                   f" && ip address add {address}/24 dev {name} && ip link set {name} up")
    return on(host, script)


def packets_sent(host, name):
    """That have left over the adapter."""
    return int(on(host, f"cat /sys/class/net/{name}/statistics/tx_packets").out)
