"""Debian's packages, downloaded and unpacked, not installed: no root is needed, and nothing of the machine changes."""
import pathlib
import re
import shlex
import subprocess

TRIES = ["-o", "Acquire::Retries=3"]
SECONDS = 240  # only what hangs needs them


def run(*command, **options):
    """What it prints; raises when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
                          **options)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def download(packages, folder):
    try:
        run("apt-get", *TRIES, "download", *packages, cwd=folder)
    except RuntimeError as error:
        if not re.search("Unable to locate package|has no candidate|Can't find a source", str(error)):
            raise
        # Images of containers have no lists of packages: these are the folder's own.
        (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
        own = ["-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}"]
        run("apt-get", *TRIES, *own, "update")
        run("apt-get", *TRIES, *own, "download", *packages, cwd=folder)


def unpack(packages, folder):
    """Returns their root, in this folder."""
    folder = pathlib.Path(folder)
    folder.chmod(0o755)  # apt-get downloads as a user of its own
    download(packages, folder)
    for package in folder.glob("*.deb"):
        run("dpkg", "-x", package, folder / "root")
        package.unlink()
    return folder / "root"
