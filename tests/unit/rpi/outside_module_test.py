#!/usr/bin/env python3
"""A module that others have compiled, outside this tree, beside the module self.

    outside_module_test.py HOST_TEST SOURCE_ROOT COMPILER...

The headers lie side by side as they are installed; two modules are compiled against them alone, and HOST_TEST's cases
of several modules use these.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    program, root, compiler = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        include = folder / "include"
        include.mkdir()
        for headers in ("control/boot/include", "api/rpi/include"):
            for header in (root / headers).glob("*.h"):
                shutil.copy(header, include)
        shutil.copy(root / "tests/unit/rpi/rpi_module.c", folder / "module.c")
        for module, flags in (("plain", []), ("newer", ["-DLAM_SSI_RPI_1_1_0"])):
            subprocess.run([*compiler, "-std=c89", "-Wall", "-Werror", "-shared", "-fPIC", "-Iinclude", *flags,
                            f"-DTRY_NAME={module}", "module.c", "-o", f"ssi_rpi_{module}.so"], cwd=folder, check=True)
        environment = {**os.environ, "RPI_TEST_MODULES": str(folder)}
        return subprocess.run([program, "--gtest_filter=HostModulesTest.*"], env=environment, check=False,
                              timeout=60).returncode


if __name__ == "__main__":
    sys.exit(main())
