"""The programs of universes in the bed of hosts: every host finds them as if they were installed under HOSTS_FOLDER."""
import os
import pathlib

FOLDER = pathlib.Path(os.environ["HOSTS_FOLDER"])  # also the prefix of an installation
PROGRAMS = {
    "control": ["lapirun"],
    "control/boot": ["hboot", "lamtree"],
    "control/tools": ["lamboot", "lamd", "lamgrow", "lamhalt", "lamnodes", "lamshrink", "lamtasks", "lapi_ntbl",
                      "recon", "tkill", "wipe"],
}


def install(build):
    (FOLDER / "bin").mkdir()
    for folder, names in PROGRAMS.items():
        for name in names:
            (FOLDER / "bin" / name).symlink_to(pathlib.Path(build, folder, name))


def environment(**variables):
    """This one without what other launchers and tests have put there; `variables` besides."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAM", "SLURM"))}
    return kept | {"PATH": f"{FOLDER}/bin:{os.environ['PATH']}", "SHELL": "/bin/bash", **variables}


def write_schema(hosts):
    path = FOLDER / "schema"
    path.write_text("".join(f"{host} cpu=2 prefix={FOLDER}\n" for host in hosts))
    return str(path)
