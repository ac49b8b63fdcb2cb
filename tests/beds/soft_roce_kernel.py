"""Finds a Linux kernel that has soft-RoCE and makes files of it that a virtual machine starts from quickly."""
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import zlib

# Loaded at the start, and with RDMA devices. crc32_generic is asked for by rxe at run time, which no list of
# dependencies tells.
START_MODULES = ["virtio_pci", "virtio_console", "virtio_rng", "9pnet_virtio", "9p", "overlay"]
RDMA_MODULES = ["crc32_generic", "crc32c_generic", "libcrc32c", "veth", "bridge", "ib_core", "ib_uverbs", "ib_umad",
                "rdma_cm", "rdma_ucm", "rdma_rxe"]
# With network adapters on PCI.
ADAPTER_MODULES = ["vfio_pci", "vfio_iommu_type1"]
# The package that depends on Debian's present kernel.
KERNEL_PACKAGE = "linux-image-amd64"
# Of a downloaded kernel only these drivers are kept: the machine has no other devices.
KEPT_DRIVERS = {"block", "char", "infiniband", "net", "vfio", "virtio"}
LEFT_OUT = ["sound", "drivers/net/ethernet", "drivers/net/wireless", "drivers/net/usb", "drivers/infiniband/hw"]

GUEST = os.path.join(os.path.dirname(os.path.realpath(__file__)), "guest")
SIGNATURE_MAGIC = b"~Module signature appended~\n"


class KernelError(Exception):
    """No kernel, or not one that can be used; the text is for the user."""


class Kernel:
    """A kernel's version, its image, and the directory of its modules."""

    def __init__(self, root, version):
        self.version = version
        self.image = os.path.join(root, "boot", "vmlinuz-" + version)
        places = [os.path.join(root, place, version) for place in ("lib/modules", "usr/lib/modules")]
        self.modules = next((place for place in places if os.path.isdir(place)), places[0])

    def can_serve(self):
        return os.access(self.image, os.R_OK) and self.has("infiniband/sw/rxe/rdma_rxe")

    def has(self, driver):
        return bool(glob.glob(os.path.join(self.modules, f"kernel/drivers/{driver}.ko*")))


def version_key(version):
    """Orders 6.1.0-9 before 6.1.0-56."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", version)]


def kernels_below(root):
    versions = {os.path.basename(path) for path in glob.glob(os.path.join(root, "lib/modules/*"))}
    kernels = [Kernel(root, version) for version in sorted(versions, key=version_key, reverse=True)]
    return [kernel for kernel in kernels if kernel.can_serve()]


def run(*words, directory=None):
    """Runs a program for its output; a failure becomes a KernelError with its last lines."""
    try:
        result = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise KernelError(f"there is no program {words[0]}, which is needed to get a kernel") from error
    if result.returncode != 0:
        raise KernelError(f"{' '.join(words)} failed:\n" + "\n".join((result.stdout + result.stderr).splitlines()[-5:]))
    return result.stdout


def package_name():
    """What KERNEL_PACKAGE depends on, or None where apt does not know it."""
    result = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], capture_output=True, text=True, check=False)
    found = re.search(r"Depends: (linux-image-[0-9]\S+)", result.stdout)
    return found[1] if found else None


def thin_out(root):
    """Removes modules that no machine of ours can use: two thirds of all."""
    for modules in glob.glob(os.path.join(root, "lib/modules/*/kernel")):
        drivers = [os.path.join("drivers", name) for name in os.listdir(os.path.join(modules, "drivers"))
                   if name not in KEPT_DRIVERS]
        for path in drivers + LEFT_OUT:
            shutil.rmtree(os.path.join(modules, path), ignore_errors=True)


def download(directory):
    """Unpacks Debian's present kernel in the directory. It is not installed, so nothing else changes."""
    if shutil.which("apt-get") is None:
        raise KernelError("no installed kernel has the module rdma_rxe and a readable image in /boot, and without "
                          "apt-get none can be fetched; install one, or make /boot/vmlinuz-* readable")
    if package_name() is None and os.geteuid() == 0:
        run("apt-get", "update")
    name = package_name()
    if name is None:
        raise KernelError(f"apt knows no package {KERNEL_PACKAGE}; run apt-get update as root")
    fresh = os.path.join(directory, f"fetched.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    try:
        # As root, apt would fetch as another user, who may not write here.
        sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
        fetch = ["apt-get", *sandbox, "download", name]
        try:
            run(*fetch, directory=fresh)
        except KernelError:
            if os.geteuid() != 0:
                raise
            run("apt-get", "update")  # the list was older than the archive
            run(*fetch, directory=fresh)
        package = glob.glob(os.path.join(fresh, "*.deb"))[0]
        run("dpkg-deb", "-x", package, os.path.join(fresh, "kernel"))
        thin_out(os.path.join(fresh, "kernel"))
        target = os.path.join(directory, "kernel")
        shutil.rmtree(target, ignore_errors=True)
        os.rename(os.path.join(fresh, "kernel"), target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def find_kernel(cache, wanted=None, adapters=False):
    """An installed kernel, or one in the cache, or a downloaded one; of that version if one is wanted. With adapters it
    can hand these to programs."""
    known = [kernel for kernel in kernels_below("/") + kernels_below(os.path.join(cache, "kernel"))
             if not adapters or kernel.has("vfio/pci/vfio-pci")]
    if wanted is not None:
        chosen = [kernel for kernel in known if kernel.version == wanted]
        if not chosen:
            raise KernelError(f"--kernel '{wanted}': allowed is one of "
                              + (", ".join(kernel.version for kernel in known) or "(no kernel with rdma_rxe is here)"))
        return chosen[0]
    if not known:
        known = kernels_below(download(cache))
    if not known:
        raise KernelError(f"the kernel of {KERNEL_PACKAGE} has no module rdma_rxe")
    kernel = known[0]
    if not os.path.exists(os.path.join(kernel.modules, "modules.dep")):
        run("depmod", "-b", kernel.modules.split("/lib/modules/")[0], kernel.version)
    return kernel


# ---- the image ----

def decompress(data):
    """A kernel's payload or a module: xz, gzip, zstd, or as it is. None if it cannot be read."""
    if data[:6] == b"\xfd7zXZ\x00":
        return lzma.LZMADecompressor().decompress(data)
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(wbits=31).decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        if shutil.which("zstd") is None:
            return None
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False).stdout or None
    return data


def plain_image(image):
    """The ELF file in a bzImage, or None. Decompressing it in an emulated machine takes longer than all the rest."""
    setup_sectors = image[0x1f1] or 4
    payload_offset = int.from_bytes(image[0x248:0x24c], "little")
    payload_length = int.from_bytes(image[0x24c:0x250], "little")
    start = (setup_sectors + 1) * 512 + payload_offset
    elf = decompress(image[start:start + payload_length])
    return elf if elf and elf[:4] == b"\x7fELF" else None


def write_whole(path, data):
    """Nobody ever sees half a file, whenever this is interrupted."""
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(data)
    os.rename(fresh, path)


def boot_image(kernel, cache):
    """The file for qemu's -kernel."""
    with open(kernel.image, "rb") as file:
        image = file.read()
    path = os.path.join(cache, f"vmlinux-{kernel.version}-{hashlib.sha256(image).hexdigest()[:12]}")
    if not os.path.exists(path):
        elf = plain_image(image)
        if elf is None:
            return kernel.image
        write_whole(path, elf)
    return path


# ---- the initial RAM disk ----

def module_name(path):
    return os.path.basename(path).split(".")[0].replace("-", "_")


def in_load_order(kernel, wanted):
    """Files of the wanted modules and of those that they need, each after what it needs. What is built in, or what this
    kernel does not have, is left out."""
    needs = {}
    with open(os.path.join(kernel.modules, "modules.dep"), encoding="utf-8") as table:
        for line in table:
            path, _, others = line.partition(":")
            needs[path] = others.split()
    by_name = {module_name(path): path for path in needs}
    order = []

    def add(path):
        if path not in order:
            for other in reversed(needs[path]):
                add(other)
            order.append(path)

    for name in wanted:
        if name in by_name:
            add(by_name[name])
    return order


def unsigned(module):
    """A module without its signature, whose check takes time and which nobody here asks for."""
    if not module.endswith(SIGNATURE_MAGIC):
        return module
    end = len(module) - len(SIGNATURE_MAGIC)
    return module[:end - 12 - int.from_bytes(module[end - 4:end], "big")]


def archive_entry(name, data, mode, number):
    """One file in the cpio format that the kernel unpacks ("newc")."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def archive(files):
    """files: (name, contents or None for a directory). The kernel takes several such archives one after another."""
    entries = [archive_entry(name, data or b"", 0o40755 if data is None else 0o100755, number)
               for number, (name, data) in enumerate(files, 1)]
    whole = b"".join(entries) + archive_entry("TRAILER!!!", b"", 0, 0)
    return whole + b"\0" * (-len(whole) % 512)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def base_archive(kernel, busybox, cache):
    """The part of the initial RAM disk that is the same for every machine with this kernel; kept in the cache."""
    sources = [read(busybox), read(os.path.join(GUEST, "init")), read(os.path.join(kernel.modules, "modules.dep")),
               read(os.path.realpath(__file__))]
    digest = hashlib.sha256(b"".join(hashlib.sha256(source).digest() for source in sources)).hexdigest()[:12]
    path = os.path.join(cache, f"initrd-{kernel.version}-{digest}")
    if os.path.exists(path):
        return read(path)
    directories = ["bin", "dev", "proc", "sys", "modules", "host", "layer", "root", "job"]
    files = [(name, None) for name in directories] + [("bin/busybox", sources[0]), ("init", sources[1])]
    start = in_load_order(kernel, START_MODULES)
    rdma = [path for path in in_load_order(kernel, RDMA_MODULES) if path not in start]
    adapters = [path for path in in_load_order(kernel, ADAPTER_MODULES) if path not in start]
    for group, paths in (("start", start), ("rdma", rdma), ("adapters", adapters)):
        names = [module_name(path) + ".ko" for path in paths]
        files.append((f"modules/{group}", "".join(name + "\n" for name in names).encode()))
        for name, module in zip(names, paths):
            contents = decompress(read(os.path.join(kernel.modules, module)))
            if contents is None:
                raise KernelError(f"the modules of kernel {kernel.version} cannot be read: install zstd")
            files.append(("modules/" + name, unsigned(contents)))
    whole = archive(files)
    for old in glob.glob(os.path.join(cache, f"initrd-{kernel.version}-*")):
        os.unlink(old)
    write_whole(path, whole)
    return whole
