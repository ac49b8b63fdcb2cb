"""A Debian that has nothing but apt, in a folder; what is run in it has mounts and processes of its own."""
import os
import pathlib
import re
import shutil
import subprocess

ACCOUNT = "user"
# What runs before a command: it mounts what programs expect of a machine. All ends with the command's process 1.
ENTER = """
for folder in /sys /dev; do mount --rbind $folder "$ROOT$folder"; done
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
exec chroot "$ROOT" setpriv --reuid "$ACCOUNT" --regid "$ACCOUNT" --init-groups sh -euc "cd ~; $SCRIPT"
"""
# Starts the account's service manager, as a login does, in control groups of its own; CONTROL_GROUP is their name.
SERVICES = f"""
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user
install -d -o {ACCOUNT} -m 0700 /run/user/{ACCOUNT}
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -e $hierarchy/cgroup.procs ] || continue
    mkdir $hierarchy/CONTROL_GROUP
    chown -R {ACCOUNT} $hierarchy/CONTROL_GROUP
    echo $$ >$hierarchy/CONTROL_GROUP/cgroup.procs
done
export HOME=/home/{ACCOUNT} LOGNAME={ACCOUNT} USER={ACCOUNT} XDG_RUNTIME_DIR=/run/user/{ACCOUNT}
cd
exec setpriv --reuid {ACCOUNT} --regid {ACCOUNT} --init-groups sh -eu services
"""
MANAGER = """
/usr/lib/systemd/systemd --user >systemd.log 2>&1 &
until systemctl --user is-active --quiet default.target 2>/dev/null; do kill -0 $! || exit; sleep 0.1; done
"""
# What dpkg, apt and the C library write for themselves.
STATE = re.compile("/(dev|proc|run|sys|var/(cache|lib/(apt|dpkg)|log))(/|$)|/etc/ld.so.cache$")


class BareDebian:
    """In `folder`, which must not be there; usable after finish()."""

    def __init__(self, folder, packages):
        self.folder = pathlib.Path(folder)
        # The lists of packages are kept: nothing needs to be fetched again to install some.
        self.making = subprocess.Popen(
            ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child",  # stop() ends all with unshare
             "mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt,cleanup/reproducible",
             f"--include={','.join(packages)}", self.release(), self.folder],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @staticmethod
    def release():
        """That of this machine: what was built here is to be installed there."""
        return re.search(r"^VERSION_CODENAME=(\w+)$", pathlib.Path("/etc/os-release").read_text(), re.M)[1]

    @staticmethod
    def obstacle():
        """Why there can be none here; None: nothing is in the way."""
        if os.geteuid() != 0:
            return "only root can make one"
        return None if shutil.which("mmdebstrap") else "there is no mmdebstrap"

    def stop(self):
        """For who gives up before finish()."""
        if self.making.poll() is None:
            self.making.kill()
            self.making.communicate()

    def finish(self):
        output, _ = self.making.communicate(timeout=300)
        assert self.making.returncode == 0, f"mmdebstrap: {output}"
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        (self.folder / "etc/hosts").write_text(f"127.0.0.1 localhost {os.uname().nodename}\n")
        self.run(f"useradd --create-home --shell /bin/sh {ACCOUNT}")

    def run(self, script, account="root", seconds=300):
        """What a script of the shell prints; it starts in the account's home and has to end with 0."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                       "HOME": "/root" if account == "root" else f"/home/{account}", "LOGNAME": account, "USER": account,
                       "ROOT": str(self.folder), "ACCOUNT": account, "SCRIPT": script}
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False,
                              env={**environment, **{name: value for name, value in os.environ.items() if "proxy" in name}})
        assert done.returncode == 0, f"{script} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def run_with_services(self, script):
        """The same in the account with a service manager of its own, which systemctl --user asks."""
        (self.folder / "home" / ACCOUNT / "services").write_text(MANAGER + script)
        group = f"openlapi-packages-{os.getpid()}"
        try:
            return self.run(SERVICES.replace("CONTROL_GROUP", group))
        finally:
            for top in pathlib.Path("/sys/fs/cgroup").glob(f"**/{group}"):
                for folder, _, _ in os.walk(top, topdown=False):
                    os.rmdir(folder)

    def files(self):
        """All files and folders but what dpkg, apt and the C library write for themselves."""
        paths = ["/" + str(path.relative_to(self.folder)) for path in self.folder.rglob("*")]
        return {path for path in paths if not STATE.match(path)}
