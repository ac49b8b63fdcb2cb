"""What Meson installs of the boot service, for programs and modules that are built as others build theirs."""
import json
import os
import pathlib
import shutil
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent / "boot_module"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = {"c": ["cc", "-std=c11"], "c++": ["c++", "-std=c++17"]}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


class InstalledBootService:
    """Headers, library, pkg-config file and messages, and nothing else of openlapi, below `root`."""

    def __init__(self, build, root):
        options = {option["name"]: option["value"] for option in
                   json.loads((build / "meson-info/intro-buildoptions.json").read_text())}
        folders = {"{" + name + "}": options[name] for name in ("includedir", "libdir", "sysconfdir")}
        folders["{libdir_shared}"] = options["libdir"]
        plan = json.loads((build / "meson-info/intro-install_plan.json").read_text())
        for source, entry in ((source, entry) for part in plan.values() for source, entry in part.items()):
            place, _, name = entry["destination"].partition("/")
            if place in folders and ("lam-ssi" in name or "liblamssi" in name):
                self._copy(source, root / options["prefix"].lstrip("/") / folders[place] / name)
        self.library = next(root.rglob("liblamssi.so")).parent
        self.headers = next(root.rglob("lam-ssi.h")).parent
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.library / "pkgconfig"), PKG_CONFIG_SYSROOT_DIR=str(root))
        self.flags = run("pkg-config", "--cflags", "--libs", "lam-ssi", env=environment).split()

    @staticmethod
    def _copy(source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        for link in pathlib.Path(source).parent.glob("liblamssi.so*"):
            if link.is_symlink():
                (target.parent / link.name).symlink_to(target.name)

    def compile(self, language, source, output, options=()):
        run(*LANGUAGES[language], *WARNINGS, *options, "-x", language, source, "-x", "none", "-o", output, *self.flags)
        return output

    def compile_module(self, name, folder, source, language="c", options=()):
        """A shared object under the name that the boot service looks for."""
        return self.compile(language, source, folder / f"lam_ssi_boot_{name}_module.so", ["-shared", "-fPIC", *options])
