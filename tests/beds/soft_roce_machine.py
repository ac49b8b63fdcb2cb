"""One virtual machine of soft-roce: its qemu process, its streams, its end.

Nothing of a machine lies in files of the host: what is handed to qemu is memory without a name, what comes from it are
pipes, and the process ends with its parent. So nothing can be left behind, even by SIGKILL.
"""
import contextlib
import ctypes
import os
import secrets
import selectors
import shlex
import signal
import subprocess
import sys
import time

import soft_roce_kernel

KERNEL_PARAMETERS = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable clocksource=tsc "
                     "init_on_alloc=0 audit=0 apparmor=0 random.trust_cpu=on no_timer_check")
CONSOLE_KEPT = 64 * 1024  # bytes of the console that are kept for error messages
PR_SET_PDEATHSIG = 1
# Network adapters that qemu emulates, and what has them use the IOMMU.
ADAPTER_MODELS = {"e1000e": "", "vmxnet3": "", "virtio-net-pci": ",iommu_platform=on,disable-legacy=on"}
FIRST_ADAPTER = 0x10  # their slots on the machine's bus begin here


class Stopped(BaseException):
    """A signal or the time limit ended the run; status is that of soft-roce."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class MachineError(Exception):
    """The machine did not get as far as the command; the text is for the user."""


class Stream:
    """What comes from the machine for one of our own streams, up to a mark that the command cannot know."""

    def __init__(self, descriptor, mark):
        self.descriptor, self.mark = descriptor, mark
        self.held = b""  # may be the beginning of the mark
        self.ended = False

    def take(self, data):
        data = self.held + data
        self.held = b""
        end = data.find(self.mark)
        if end >= 0:
            data, self.ended = data[:end], True
        else:
            length = next((length for length in range(min(len(self.mark) - 1, len(data)), 0, -1)
                           if data.endswith(self.mark[:length])), 0)
            data, self.held = data[:len(data) - length], data[len(data) - length:]
        while data:
            data = data[os.write(self.descriptor, data):]


def job_files(options, modules, mark):
    """The files that tell the machine what it is for; see guest/."""
    variables = {"DEVICES": options.devices, "ADAPTERS": " ".join(adapter_addresses(options)), "MTU": options.mtu, "MEMLOCK": options.memlock, "MODULES": modules,
                 "DIRECTORY": options.directory, "END_MARK": mark.decode()}
    lists = {"SHARES": options.scratch, "COMMAND": options.command}
    return {
        "variables": "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in variables.items()),
        "command": "".join(f"{name}=({' '.join(shlex.quote(word) for word in words)})\n"
                           for name, words in lists.items()),
        "environment": "".join(f"export {name}={shlex.quote(value)}\n" for name, value in options.environment.items()),
    }


def memory_file(data):
    """A file without a name; gone when nobody has it open."""
    descriptor = os.memfd_create("soft-roce")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    return descriptor


def escaped(path):
    """A path as a value in qemu's comma-separated options."""
    return path.replace(",", ",,")


def file_system(name, path, mode):
    """A directory of the host, as qemu shows it to the machine."""
    return ["-fsdev", f"local,id={name},path={escaped(path)},security_model=none,multidevs=remap{mode}",
            "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]


def adapter_addresses(options):
    """Where the machine finds its network adapters on PCI."""
    return [f"0000:00:{FIRST_ADAPTER + number:02x}.0" for number in range(len(options.adapters))]


def adapters(options):
    """They are all on one hub, and reach the machine's memory through an IOMMU alone. What the machine itself needs goes
    past that."""
    if not options.adapters:
        return []
    words = ["-device", "intel-iommu,intremap=on,aw-bits=48"]
    for number, model in enumerate(options.adapters):
        words += ["-netdev", f"hubport,id=net{number},hubid=0",
                  "-device", f"{model}{ADAPTER_MODELS[model]},netdev=net{number},id=adapter{number},"
                             f"mac=02:78:00:00:00:{number + 1:02x},addr={FIRST_ADAPTER + number:#x}"]
    return words


class Machine:
    """A running machine. Use in a `with`: leaving it ends the machine."""

    def __init__(self, options, files, accelerator):
        """files: kernel's boot image, base of the initial RAM disk, directory of modules."""
        image, base, modules = files
        self.mark = f"\0end {secrets.token_hex(16)}\n".replace("\0", "\x01").encode()
        job = job_files(options, modules, self.mark)
        with open(os.path.join(soft_roce_kernel.GUEST, "setup"), encoding="utf-8") as setup:
            job["setup"] = setup.read()
        disk = memory_file(base + soft_roce_kernel.archive([("job/" + name, text.encode())
                                                            for name, text in job.items()]))
        self.streams = {"out": Stream(sys.stdout.fileno(), self.mark), "err": Stream(sys.stderr.fileno(), self.mark)}
        self.show_console = options.console
        self.console, self.control = bytearray(), b""
        self.ready_after, self.status, self.failed = None, None, False
        self.started = time.monotonic()
        self.selector = selectors.DefaultSelector()
        write_ends = {}
        try:
            for name in ("console", "control", "out", "err"):
                read_end, write_ends[name] = os.pipe()
                self.selector.register(read_end, selectors.EVENT_READ, name)
            words = self.qemu_words(options, image, disk, accelerator, write_ends)
            self.process = self.start(words, [disk, *write_ends.values()], write_ends["console"])
        finally:
            for descriptor in (disk, *write_ends.values()):
                os.close(descriptor)

    @staticmethod
    def qemu_words(options, image, disk, accelerator, write_ends):
        model = {"kvm": "host", "tcg": "max"}[accelerator]
        machine = "q35" if options.adapters else "pc"
        words = ["qemu-system-x86_64", "-accel", accelerator + (",thread=multi" if accelerator == "tcg" else ""),
                 "-cpu", model, "-smp", str(options.cpus), "-m", str(options.memory), "-machine", machine,
                 "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
                 "-kernel", image, "-initrd", f"/proc/self/fd/{disk}",
                 "-append", f"{KERNEL_PARAMETERS} {'intel_iommu=on' * bool(options.adapters)} {options.append}".strip(), "-device", "virtio-rng-pci"]
        words += adapters(options)
        for number, (name, descriptor) in enumerate(write_ends.items(), 1):
            words += ["-add-fd", f"fd={descriptor},set={number}",
                      "-chardev", f"file,id={name},path=/dev/fdset/{number},append=on"]
        words += ["-serial", "chardev:console", "-device", "virtio-serial-pci"]
        for name in ("control", "out", "err"):
            words += ["-device", f"virtserialport,chardev={name},name={name}"]
        words += file_system("host", "/", ",readonly=on")
        for number, directory in enumerate(options.scratch):
            words += file_system(f"share{number}", directory, "")
        return words

    @staticmethod
    def start(words, descriptors, messages):
        libc = ctypes.CDLL(None)
        parent = os.getpid()

        def end_with_parent():
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it went before this was said
                os._exit(1)

        # A session of its own: the terminal's Ctrl-C is for soft-roce, which ends the machine.
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages,
                                pass_fds=descriptors, start_new_session=True, preexec_fn=end_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()  # no file of the host depends on a tidy end
        self.process.wait()
        for key in list(self.selector.get_map().values()):
            self.selector.unregister(key.fd)
            os.close(key.fd)
        self.selector.close()

    def take(self, name, data):
        if name in self.streams:
            self.streams[name].take(data)
        elif name == "console":
            self.console = (self.console + data)[-CONSOLE_KEPT:]
            if self.show_console:
                os.write(sys.stderr.fileno(), data)
        else:
            self.control += data
            *lines, self.control = self.control.split(b"\n")
            for line in lines:
                self.obey(line.decode())

    def obey(self, line):
        word, _, value = line.partition(" ")
        if word == "ready":
            self.ready_after = time.monotonic() - self.started
        elif word == "status":
            self.status = int(value)
        elif word == "failed":
            self.failed = True

    def turn(self, seconds):
        """Takes what comes within that time. False: nothing can come any more."""
        for key, _ in self.selector.select(seconds):
            data = os.read(key.fd, 65536)
            if data:
                self.take(key.data, data)
            else:
                self.selector.unregister(key.fd)
                os.close(key.fd)
        return bool(self.selector.get_map())

    def is_over(self):
        return self.status is not None and all(stream.ended for stream in self.streams.values())

    def become_ready(self, seconds):
        """Waits until the command runs; for ever if seconds is None. False: it took longer."""
        end = None if seconds is None else self.started + seconds
        while self.ready_after is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            if not self.turn(left) or self.failed:
                raise MachineError(self.last_words("did not start"))
        return True

    def run(self):
        """Passes the output on until the command has ended; its status."""
        while not self.is_over():
            if not self.turn(None):
                raise MachineError(self.last_words("ended before the command did"))
        return self.status

    def last_words(self, what):
        with contextlib.suppress(BlockingIOError):
            while self.selector.get_map() and self.selector.select(0.2):
                self.turn(0)
        lines = self.console.decode(errors="replace").replace("\r", "").strip().splitlines()
        return f"the machine {what}; its console and qemu said last:\n" + "\n".join(lines[-15:])
