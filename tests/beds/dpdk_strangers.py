"""Somebody on the wire between DPDK ports, run by dpdk_jobs.py: with OPENLAPI_PACKET_AUTH=yes he cannot do anything to a
job. Whatever a task sends comes again, changed, and as the packet that would be next."""
import re
import select
import socket
import time

from tap import check

ALL_PROTOCOLS = 3         # ETH_P_ALL
TYPE_AT, IP_PROTOCOL_AT, UDP_AT, UDP_LENGTH_AT, UDP_SUM_AT, PACKET_AT = 12, 23, 34, 38, 40, 48
FLAGS_AT = {True: 0, False: 3}      # of a short header, of a long one
SEQUENCE_AT = {True: 16, False: 32}
HEADER = {True: 24, False: 56}
CHECKSUM_AT = 52          # of a long header
SHORT, HAS_DATA, HAS_CHECKSUM = 128, 1, 16
FEWEST = 100              # of each kind
LIMIT = 100               # seconds; with them a job takes a few


def crc32c_table():
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82f63b78 if value & 1 else 0) for value in table]
    return table


CRC32C = crc32c_table()


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value = value >> 8 ^ CRC32C[(value ^ byte) & 0xff]
    return value ^ 0xffffffff


def forged(frame):
    """By kind: the same again, one with another last byte, and that one with the next number and what it needs to be
    taken where packets carry no tags."""
    end = UDP_AT + int.from_bytes(frame[UDP_LENGTH_AT:UDP_LENGTH_AT + 2], "big")
    packet = bytearray(frame[PACKET_AT:end])
    if not packet:
        return {}
    short = bool(packet[0] & SHORT)
    flags = packet[FLAGS_AT[short]]
    if len(packet) <= HEADER[short] or not flags & HAS_DATA:
        return {}
    front = bytearray(frame[:PACKET_AT])
    front[UDP_SUM_AT:UDP_SUM_AT + 2] = b"\0\0"  # none
    packet[-1] ^= 0xff
    changed = front + packet
    at = SEQUENCE_AT[short]
    sequence = (int.from_bytes(packet[at:at + 4], "little") + 1) % (1 << 32)
    packet[at:at + 4] = sequence.to_bytes(4, "little")
    if not short and flags & HAS_CHECKSUM:
        packet[CHECKSUM_AT:CHECKSUM_AT + 4] = bytes(4)
        packet[CHECKSUM_AT:CHECKSUM_AT + 4] = crc32c(packet).to_bytes(4, "little")
    return {"next": front + packet, "changed": changed, "again": frame}


class Stranger:
    def __init__(self, links):
        self.sent = {"again": 0, "changed": 0, "next": 0}
        self.sockets = []
        for link in links:
            self.sockets.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            self.sockets[-1].bind((link, ALL_PROTOCOLS))

    def take(self, source):
        frame, (_, _, direction, *_) = source.recvfrom(65536)
        if direction == socket.PACKET_OUTGOING or len(frame) <= PACKET_AT:
            return
        if frame[TYPE_AT:TYPE_AT + 2] != b"\x08\x00" or frame[IP_PROTOCOL_AT] != socket.IPPROTO_UDP:
            return
        for kind, copy in forged(frame).items():
            for other in self.sockets:
                if other is not source:
                    other.send(copy)
            self.sent[kind] += 1

    def beside(self, process):
        """Until it ends, or is ended because it does not."""
        end = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < end:
            for source in select.select(self.sockets, [], [], 0.1)[0]:
                self.take(source)
        process.terminate()


def run(bed):
    stranger = Stranger([f"bus{task}" for task in range(bed.COUNT)])
    job = bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_transfer polling 30000"), during=stranger.beside,
                  OPENLAPI_PACKET_AUTH="yes")
    tagged = {int(task) for task in re.findall(r"task (\d+): packets carry tags", job.err)}
    good = not job.problem() and tagged == set(range(bed.COUNT)) and min(stranger.sent.values()) >= FEWEST
    check(f"a stranger on the wire changes nothing where packets carry tags, {bed.COUNT} tasks over {bed.KIND}", good,
          f"{job.problem()}, tasks with tags {tagged}, sent {stranger.sent}\n{job}")
    print(f"# {job.seconds:.1f} s, forged {stranger.sent}", flush=True)
