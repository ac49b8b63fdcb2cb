"""What the bed `hosts` starts on its hosts when asked: sshd, so that "ssh host2 command" needs neither option nor
password, and Slurm."""
import os
import pathlib
import shutil
import subprocess
import time

from host_namespaces import FOLDER, HostError

ACCOUNT, ACCOUNT_NUMBER = "booter", 61277  # an ordinary user, beside root
PATIENCE = 60  # seconds for Slurm to find its nodes


def add_account(hosts):
    """On all hosts; sshd wants a user of its own, too."""
    home = hosts.write("home/.hushlogin", "")
    for path in (os.path.dirname(home), home):
        os.chown(path, ACCOUNT_NUMBER, ACCOUNT_NUMBER)
    users = [line for line in pathlib.Path("/etc/passwd").read_text(encoding="utf-8").splitlines(True)
             if not line.startswith(("sshd:", ACCOUNT + ":"))]
    hosts.write("passwd", "".join(users) + "sshd:x:61278:65534::/run/sshd:/usr/sbin/nologin\n"
                f"{ACCOUNT}:x:{ACCOUNT_NUMBER}:{ACCOUNT_NUMBER}::{FOLDER}/home:/bin/sh\n")
    groups = pathlib.Path("/etc/group").read_text(encoding="utf-8")
    hosts.write("group", groups + f"{ACCOUNT}:x:{ACCOUNT_NUMBER}:\n")
    hosts.everywhere('for file in passwd group; do mount --bind "$1/$file" /etc/$file; done', FOLDER)


# A .bashrc of root's that writes something would be a failure of every host: SHLVL keeps bash from reading it.
SSHD_CONFIG = """\
HostKey {keys}/host
AuthorizedKeysFile {keys}/user.pub
PidFile /run/sshd.pid
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
MaxStartups 200
MaxSessions 200
SetEnv SHLVL=2
"""
SSH_CONFIG = """\
Host *
IdentityFile {keys}/user.%u
IdentitiesOnly yes
StrictHostKeyChecking yes
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile none
BatchMode yes
LogLevel ERROR
KexAlgorithms curve25519-sha256
"""


def start_sshd(hosts):
    keys = pathlib.Path(FOLDER, "keys")
    keys.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
    for user, number in (("root", 0), (ACCOUNT, ACCOUNT_NUMBER)):  # ssh wants a file of its user's own
        shutil.copy(keys / "user", keys / f"user.{user}")
        os.chmod(keys / f"user.{user}", 0o600)
        os.chown(keys / f"user.{user}", number, number)
    public = (keys / "host.pub").read_text(encoding="utf-8")
    hosts.write("known_hosts", "".join(f"{name},{address} {public}" for name, address in hosts.addresses.items()))
    hosts.write("sshd_config", SSHD_CONFIG.format(keys=keys))
    hosts.write("ssh_config", SSH_CONFIG.format(keys=keys, folder=FOLDER))
    # It writes the file when it listens, after its first process has ended.
    hosts.everywhere('mount --bind "$1/ssh_config" /etc/ssh/ssh_config\n'
                     '"$2" -f "$1/sshd_config" -E /run/sshd.log\n'
                     'tries=0\n'
                     'until [ -s /run/sshd.pid ]; do\n'
                     '    tries=$((tries + 1)); [ $tries -lt 1000 ] || { cat /run/sshd.log; exit 1; }; sleep 0.01\n'
                     'done', FOLDER, shutil.which("sshd"))


# No cgroups: linuxproc follows parents, task/none binds nothing. A container may lack the right to raise limits. Nodes
# may claim more processors than there are (config_overrides).
SLURM_CONFIG = """\
ClusterName=hosts
SlurmctldHost={first}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
PropagateResourceLimits=NONE
InactiveLimit=0
KillWait=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldLogFile=/run/slurmctld.log
SlurmdLogFile=/run/slurmd.log
NodeName={nodes} CPUs={cpus} State=UNKNOWN
PartitionName=hosts Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""
# Else slurmd ends where cgroups of both versions are mounted.
CGROUP_CONFIG = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
START_SLURM = r"""
mkdir -p /run/munge /run/slurmd /run/slurmctld
cp "$1/slurm/munge.key" /run/munge/key
chmod 755 /run/munge; chmod 400 /run/munge/key
munged --key-file=/run/munge/key --num-threads=2 --socket=/run/munge/munge.socket.2 --pid-file=/run/munge/munged.pid \
    --log-file=/run/munge/munged.log --seed-file=/run/munge/seed --force
mount -t tmpfs slurm /etc/slurm
cp "$1"/slurm/*.conf /etc/slurm
[ "$(hostname)" != host0 ] || slurmctld
slurmd || { tail -n 5 /run/slurmd.log; exit 1; }
"""


def start_slurm(hosts, cpus):
    """slurmctld on host0, slurmd on all; jobs may be of all users."""
    if not os.path.isdir("/etc/slurm"):
        raise HostError("there is no folder /etc/slurm, which Slurm's packages make")
    hosts.write("slurm/slurm.conf", SLURM_CONFIG.format(
        first=hosts.names[0], address=hosts.addresses[hosts.names[0]], cpus=cpus,
        nodes=f"host[0-{len(hosts.names) - 1}]" if len(hosts.names) > 1 else "host0"))
    hosts.write("slurm/cgroup.conf", CGROUP_CONFIG)
    key = pathlib.Path(hosts.write("slurm/munge.key", "", 0o600))
    key.write_bytes(os.urandom(128))
    hosts.everywhere(START_SLURM, FOLDER)
    deadline = time.monotonic() + PATIENCE
    while True:
        with hosts.start(hosts.names[0], ["sinfo", "-h", "-N", "-o", "%t"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            states = process.communicate()[0].split()
        if states == ["idle"] * len(hosts.names):
            return
        if time.monotonic() > deadline:
            raise HostError(f"Slurm's nodes are not ready after {PATIENCE} s: {' '.join(states)}")
        time.sleep(0.05)
