#!/usr/bin/env python3
"""The tracing library's transport hands on every virtual function of Transport: what it left out would fall back to the
default, and a job that is traced would behave otherwise. Argument: ROOT."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
wrapper = (root / "libtrace/traced_transport.cc").read_text(encoding="utf-8")
interface = re.search(r"^class Transport \{.*?^\};", (root / "dataplane/transport/transport.h").read_text(encoding="utf-8"),
                      re.MULTILINE | re.DOTALL)[0]
functions = re.findall(r"virtual [^~();]*?(\w+)\(", interface)
missing = [name for name in functions if not re.search(rf"\b{name}\([^{{;]*override", wrapper)]
for name in missing:
    print(f"libtrace/traced_transport.cc does not override Transport::{name}()")
print(f"{len(functions)} functions, {len(missing)} not handed on")
sys.exit(1 if missing or len(functions) < 10 else 0)
