"""Prints the requirements of extras in pyproject.toml, one a line, so that make can install them apart from the
package: extras.py NAME..."""

import re
import sys
from pathlib import Path

# tomllib came with Python 3.11; pip brings a copy for 3.10.
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = list(sys.argv[1:])
lines: list[str] = []
for name in wanted:
    for line in extras[name]:
        own = re.fullmatch(r"rapidchunk\[(.*)\]", line)
        if own:
            wanted.extend(extra.strip() for extra in own[1].split(","))
        else:
            lines.append(line.replace(" ", ""))
if {"cpu", "gpu"} <= set(wanted):
    sys.exit("cpu and gpu: onnxruntime and onnxruntime-gpu overwrite each other's files, take one of the two extras")
print("\n".join(dict.fromkeys(lines)))
