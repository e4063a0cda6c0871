"""Every bar of the laws in one run: speed, accuracy, designs, coverage.

python benchmarks/laws_all.py
"""

from __future__ import annotations

import datetime
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    today = datetime.date.today().isoformat()
    print(
        f"{today}, {platform.machine()}, Python {platform.python_version()}, {commit}"
    )
    for name in ("laws_speed", "laws_accuracy", "laws_design", "laws_coverage"):
        print(f"\n{name}", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py")]
        subprocess.run(command, cwd=HERE.parent, check=True)


if __name__ == "__main__":
    main()
