"""Wall time of imports and commands from a cold start: a new interpreter each, compiled kernels as the cache has them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "import serdes, channels, dsp": [sys.executable, "-c", "import serdes, channels, dsp"],
    "import serdes.setups, serdes.statistical": [sys.executable, "-c", "import serdes.setups, serdes.statistical"],
    "serdes reach": [sys.executable, "-m", "experiments", "reach"],
    "serdes why": [sys.executable, "-m", "experiments", "why"],
}


def main() -> None:
    """Print the best of three for imports and a single run for each command."""
    for name, command in COMMANDS.items():
        times = []
        for _ in range(3 if name.startswith("import") else 1):
            with tempfile.TemporaryDirectory() as folder:
                extra = [] if name.startswith("import") else ["--out", folder]
                begin = time.perf_counter()
                subprocess.run([*command, *extra], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times.append(time.perf_counter() - begin)
        print(f"{name:45s} {min(times):7.2f} s")


if __name__ == "__main__":
    main()
