#!/usr/bin/env python3
"""A stranger: datagrams to the sockets that processes of a program have on this machine, those of UDP and those by which
they meet in shared memory: noise, noise in frames as the transport has them, and empty ones.

    lam_strangers.py PROGRAM

Prints to how many sockets of each kind."""
import os
import random
import re
import socket
import struct
import subprocess
import sys

FRAME_MARK = 0x3150414c  # nic/udp/datagram_frame.h
TURNS = 3000


def noise():
    length = random.choice((0, 1, 8, 24, 64, 288, 1400))
    if random.random() < 0.5:
        return os.urandom(length)
    return struct.pack("<II", length, length ^ FRAME_MARK) + os.urandom(length) + bytes(-length % 8)


def sockets_of(program, kind):
    said = subprocess.run(["ss", f"-H{kind}anp"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if f'"{program[:15]}"' in line]


def udp_sockets(program):
    ends = [line.split()[3].rsplit(":", 1) for line in sockets_of(program, "u")]
    return [("127.0.0.1" if address in ("*", "0.0.0.0") else address, int(port)) for address, port in ends]


def bells(program):
    return re.findall(r"@(openlapi-[0-9a-f]{16})", "".join(sockets_of(program, "x")))


def throw(family, ends):
    out = socket.socket(family, socket.SOCK_DGRAM)
    out.setblocking(False)
    for _ in range(TURNS):
        for end in ends:
            try:
                out.sendto(noise(), end)
            except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
                pass


def main():
    ends, names = udp_sockets(sys.argv[1]), bells(sys.argv[1])
    throw(socket.AF_INET, ends)
    throw(socket.AF_UNIX, ["\0" + name for name in names])
    print(len(ends), len(names))


if __name__ == "__main__":
    main()
