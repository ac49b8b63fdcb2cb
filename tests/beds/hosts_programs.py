"""The programs of universes in the bed of hosts: every host finds them as if they were installed under HOSTS_FOLDER."""
import os
import pathlib
import shutil
import subprocess
import time

FOLDER = pathlib.Path(os.environ["HOSTS_FOLDER"])  # also the prefix of an installation
LIMIT = 60  # seconds; only what hangs needs them
PROGRAMS = {
    "api": ["lapi_info"],
    "control": ["lamexec", "lapirun"],
    "control/tools": ["lamboot", "lamclean", "lamgrow", "lamhalt", "lamnodes", "lamshrink", "lamwipe", "lapi_ntbl", "namstat",
                      "recon", "tkill"],
}
HELPERS = {"control/boot": ["lamtree"], "control/tools": ["lamd", "lamtasks", "wipe"]}


def install(build):
    """As `meson install` would, but for links to what is in the build folder."""
    for place, programs in (("bin", PROGRAMS), ("libexec/openlapi", HELPERS)):
        (FOLDER / place).mkdir(parents=True)
        for folder, names in programs.items():
            for name in names:
                (FOLDER / place / name).symlink_to(pathlib.Path(build, folder, name))
    # It finds the others from where it is itself.
    shutil.copy(pathlib.Path(build, "control/boot/hboot"), FOLDER / "bin")


def environment(**variables):
    """This one without what other launchers and tests have put there; `variables` besides."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAM", "SLURM"))}
    return kept | {"PATH": f"{FOLDER}/bin:{os.environ['PATH']}", "SHELL": "/bin/bash", **variables}


def write_schema(hosts):
    """Renamed into place: a lamboot beside may be reading the one before."""
    path, whole = FOLDER / "schema", FOLDER / "schema.new"
    whole.write_text("".join(f"{host} cpu=2 prefix={FOLDER}\n" for host in hosts))
    whole.rename(path)
    return str(path)


class Done:
    """A command that has ended."""

    def __init__(self, words, user=None, **variables):
        if user:
            words = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *words]
        self.words, start = words, time.monotonic()
        done = subprocess.run(words, env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.seconds = time.monotonic() - start
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"{self.words}: status {self.status}\n{self.out}{self.err}"


def on(host, script):
    return Done(["ssh", host, script])


def add_network(network, hosts):
    """Each of them, from the bed's first on, gets an adapter `more` on NETWORK.0/24."""
    for number, host in enumerate(hosts, 1):
        parent = "bridge" if number == 1 else "eth0"
        done = on(host, f"ip link add name more link {parent} type macvlan mode bridge && "
                        f"ip address add {network}.{number}/24 dev more && ip link set more up")
        if done.status != 0:
            raise RuntimeError(f"{host} got no second adapter: {done}")


def wait_until(condition, limit=LIMIT):
    end = time.monotonic() + limit
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def daemons(hosts):
    """Those that run, and session folders, by host."""
    look = "pgrep -x lamd; pgrep -x hboot; pgrep -x lamtree; ls -d /tmp/lam-* 2>/dev/null"
    return {host: said for host in hosts if (said := Done(["ssh", host, look]).out)}
