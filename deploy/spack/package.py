# SPDX-License-Identifier: Apache-2.0
"""A recipe for Spack. There is no archive to fetch yet: `spack develop --path TREE openlapi@0.2.0` says where the sources
are. The recipe was never run by Spack; tests/packages compares it with meson_options.txt and meson.build.
"""

from spack.package import *


class Openlapi(MesonPackage):
    """LAPI, IBM's low-level application programming interface: one-sided put, get and read-modify-write, and active
    messages whose handlers run in the target task."""

    license("Apache-2.0")

    version("0.2.0")

    variant("verbs", default=True, description="Build the transport over RDMA adapters")
    variant("dpdk", default=False, description="Build the transport over DPDK ports")
    variant("fortran", default=False, description="Build the module and the samples in Fortran")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("meson@1:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("benchmark", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("hwloc@2:")
    depends_on("openssl@3:")
    depends_on("pmix@4:")
    depends_on("rdma-core", when="+verbs")
    depends_on("dpdk", when="+dpdk")

    def meson_args(self):
        return [f"-D{name}={'enabled' if self.spec.satisfies(f'+{name}') else 'disabled'}"
                for name in ("verbs", "dpdk", "fortran")] + ["-Dwerror=false"]
