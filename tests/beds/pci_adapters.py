#!/usr/bin/env python3
"""Jobs over network adapters on PCI, each task with its own, bound to vfio-pci behind an IOMMU. Runs inside the machine:

    soft-roce --devices 0 --adapters e1000e,e1000e,vmxnet3,vmxnet3,virtio-net-pci,virtio-net-pci -- pci_adapters.py BUILD

Drivers, interrupts and the memory that adapters reach are those of real ones; only the adapters are emulated. Prints TAP.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from paths_probe import Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
ADAPTERS = os.environ["SOFT_ROCE_ADAPTERS"].split()
E1000E, VMXNET3, VIRTIO = ADAPTERS[0:2], ADAPTERS[2:4], ADAPTERS[4:6]
DRIVERS = {"net_e1000_em": E1000E, "net_vmxnet3": VMXNET3, "net_virtio": VIRTIO}
USER = 65534
FEWEST = 20  # packets of each task


def prepared(adapters, *program, before=(), **variables):
    """The words of a job and its environment. `adapters`: what MP_EUIDEVICE is for each task."""
    environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "dpdk", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "API_SLOWNESS": "4", **variables}
    script = "".join(f'[ $PMIX_RANK != {task} ] || export MP_EUIDEVICE="{one}"; ' for task, one in enumerate(adapters))
    return [*before, os.path.join(BUILD, "control/lapirun"), "-n", str(len(adapters)), "/bin/sh", "-c",
            script + 'exec "$0" "$@"', os.path.join(BUILD, "tests/system", program[0]), *program[1:]], environment


def run(*arguments, **variables):
    words, environment = prepared(*arguments, **variables)
    try:
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=100, check=False)
    except subprocess.TimeoutExpired as late:
        return None, f"not ended\n{(late.stdout or b'').decode()}{(late.stderr or b'').decode()}"
    return done.returncode, done.stdout + done.stderr


def packets_of(said):
    """By task, what its adapter has sent and received in the end."""
    return {task: min(int(sent), int(received)) for task, sent, received in
            re.findall(r"task (\d+), dpdk.*: (\d+) packets sent, (\d+) received", said)}


def went_over(said, *adapters):
    """Both tasks have reached each other over their adapters, which woke them."""
    return all(re.search(rf"task {task} reaches task {1 - task} over dpdk, {one} \(.*wakes at once", said)
               for task, one in enumerate(adapters)) and \
        all(packets_of(said).get(str(task), 0) >= FEWEST for task in range(2))


def check_job(name, adapters, *program, **variables):
    status, said = run(adapters, *program, **variables)
    check(name, status == 0 and went_over(said, *adapters), said)
    return said


def test_each_driver():
    for driver, adapters in DRIVERS.items():
        said = check_job(f"{driver}: messages of every size between tasks that poll", adapters, "api_transfer", "polling",
                         "30000")
        check(f"{driver} it is", said.count(f"({driver}, ") >= 4, said)
        check_job(f"{driver}: tasks that sleep", adapters, "api_sync", "interrupt")
    # Not all make UDP's checksum.
    check_job("adapters of two kinds", [E1000E[0], VIRTIO[0]], "api_xfer", "polling")
    check_job("adapters of two other kinds", [VMXNET3[0], VIRTIO[1]], "api_sync", "interrupt")


def test_long_frames():
    said = check_job("frames of 9000 bytes", E1000E, "api_transfer", "polling", "30000", MP_UDP_PACKET_SIZE="9000")
    check("they leave room for 9000 bytes of UDP", "MTU 9034" in said, said)


def group_file(adapter):
    return "/dev/vfio/" + os.path.basename(os.readlink(f"/sys/bus/pci/devices/{adapter}/iommu_group"))


def as_user(limit):
    return ["/bin/sh", "-c", f'ulimit -l {limit}; exec "$@"', "sh", "setpriv", f"--reuid={USER}", f"--regid={USER}",
            "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--"]


def test_ordinary_user():
    status, said = run(E1000E, "api_sync", "interrupt", before=as_user("unlimited"))
    check("who may not open the adapter is told so", status not in (0, None) and group_file(E1000E[0]) in said, said)
    for adapter in E1000E:
        os.chown(group_file(adapter), USER, USER)
    check_job("an ordinary user who may", E1000E, "api_sync", "interrupt", before=as_user("unlimited"))
    status, said = run(E1000E, "api_sync", "interrupt", before=as_user("64"))
    check("who may lock no memory is told so", status not in (0, None) and "memlock" in said, said)
    for adapter in E1000E:
        os.chown(group_file(adapter), 0, 0)


def unbind(adapter):
    """It waits until the adapter has been given back."""
    return subprocess.Popen(["/bin/sh", "-c", f"echo {adapter} >/sys/bus/pci/drivers/vfio-pci/unbind"])


def bind(adapter):
    with open("/sys/bus/pci/drivers_probe", "w", encoding="ascii") as file:
        file.write(adapter)


def given_back(unbinding, adapter):
    return wait_until(lambda: unbinding.poll() is not None) and unbinding.returncode == 0 and \
        not os.path.exists(f"/sys/bus/pci/devices/{adapter}/driver")


def paths_job(adapters, mode, **variables):
    return Job(*prepared(adapters, "api_paths_probe", mode, "0", **{"API_PATHS_TIMEOUT": "60", **variables}))


def test_an_adapter_is_asked_back(mode):
    """Each task has two; one of each kind in turn is taken from a task that goes on."""
    job = paths_job([f"{E1000E[0]} {VIRTIO[0]}", f"{E1000E[1]} {VIRTIO[1]}"], mode)
    check(f"{mode}: two adapters each", job.goes_on(), job)
    for task, adapter in ((0, E1000E[0]), (1, E1000E[1])):
        unbinding = unbind(adapter)
        check(f"{mode}: task {task} gives {adapter} back", job.goes_on(2) and given_back(unbinding, adapter), job)
        check(f"{mode}: it says so", job.has_said(rf"DPDK port {adapter} is wanted back by the kernel"), job)
    check(f"{mode}: all goes on over the others", job.goes_on(3) and job.ends_well(), job)
    for adapter in E1000E:
        bind(adapter)
    check_job(f"{mode}: they serve another job", E1000E, "api_sync", "interrupt")


def test_the_only_adapter_is_asked_back():
    job = paths_job(VMXNET3, "interrupt", API_PATHS_TIMEOUT="10")
    check("one adapter each", job.goes_on(), job)
    unbinding = unbind(VMXNET3[1])
    check("the only adapter is given back", given_back(unbinding, VMXNET3[1]), job)
    check("the job fails in time", job.fails(), job)
    bind(VMXNET3[1])
    check_job("it serves another job", VMXNET3, "api_sync", "polling")


def test_a_killed_task():
    job = paths_job(VIRTIO, "polling")
    check("a job begins", job.goes_on(), job)
    subprocess.run(["pkill", "-KILL", "-f", "api_paths_probe polling"], check=False)
    check("it ends with its tasks", job.fails(), job)
    check_job("what its adapters were left in does no harm", VIRTIO, "api_transfer", "interrupt", "30000")


def main():
    test_each_driver()
    test_long_frames()
    test_ordinary_user()
    for mode in ("interrupt", "polling"):
        test_an_adapter_is_asked_back(mode)
    test_the_only_adapter_is_asked_back()
    test_a_killed_task()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
