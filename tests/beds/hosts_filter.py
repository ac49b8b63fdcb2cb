"""Packets that a host of the bed loses at a chosen step of a boot."""
import os
import subprocess

from hosts_programs import LIMIT, environment

CONNECTS = "tcp flags & (syn|ack) == syn"
WAY = os.environ["HOSTS_NAMES"].split()[1]  # a host that still reaches the one with the filter, unless another is given


class Filter:
    """nftables' rules on a host, as long as the block lasts."""

    def __init__(self, host, rules, way=WAY):
        self.host, self.rules, self.way = host, rules, way

    def nft(self, *words, text=None):
        words = ["ssh", self.way, "ssh", self.host, "/usr/sbin/nft", *words]
        return subprocess.run(words, env=environment(), input=text or "", text=True, timeout=LIMIT, check=True,
                              stdout=subprocess.PIPE).stdout

    def __enter__(self):
        self.nft("-f", "-", text=f"table ip links {{ {self.rules} }}")
        return self

    def __exit__(self, *_):
        self.nft("delete", "table", "ip", "links")

    def count(self, name):
        """Elements of one of its sets."""
        said = self.nft("list", "set", "ip", "links", name)
        return len(said.partition("elements = {")[2].partition("}")[0].split(",")) if "elements = {" in said else 0
