#!/usr/bin/env python3
"""What kinds of RDMA packets cross the bridge of the soft-RoCE bed. Runs inside the machine:

    packets_on_wire.py rc|ud PERCENT COMMAND [WORD...]

runs COMMAND and fails, too, when less than PERCENT of the packets that carried messages were of that kind: sent through
a reliable connection (rc) or as datagrams (ud).
"""
import json
import subprocess
import sys

# The first byte of what is in a RoCE v2 packet: SEND ONLY of each service. No packet of openlapi's needs more than one.
OPCODES = {"rc": 0x04, "ud": 0x64}
TABLE = "openlapi_kinds"


def nft(*words):
    return subprocess.run(["nft", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


class PacketKinds:
    """Counts from now on, by these first bytes."""

    def __init__(self, opcodes=None):
        nft(f"add table bridge {TABLE}")
        nft(f"add chain bridge {TABLE} forward {{ type filter hook forward priority 0; }}")
        for kind, opcode in (opcodes or OPCODES).items():
            nft(f"add counter bridge {TABLE} {kind}")
            nft(f"add rule bridge {TABLE} forward udp dport 4791 @th,64,8 {opcode} counter name {kind}")

    @staticmethod
    def counts():
        found = json.loads(nft("-j", "list", "counters", "table", "bridge", TABLE))["nftables"]
        return {entry["counter"]["name"]: entry["counter"]["packets"] for entry in found if "counter" in entry}


def main():
    kind, percent, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    kinds = PacketKinds()
    status = subprocess.run(command, check=False).returncode
    counts = kinds.counts()
    share = 100 * counts[kind] / max(1, sum(counts.values()))
    print(f"packets on the wire: {counts['rc']} through connections, {counts['ud']} as datagrams", flush=True)
    if share < percent:
        print(f"only {share:.1f} % of them are {kind}, not {percent} %")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
