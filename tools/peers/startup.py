"""A Python that imports a framework: seconds and memory of the whole process."""

import subprocess
import sys
import time

import common

CODE = "import {}, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"


def main():
    args = common.options(__doc__, module={"default": "torch"})
    ms = []
    for _ in range(args.rounds + 1):
        start = time.perf_counter()
        output = subprocess.run([sys.executable, "-c", CODE.format(args.module)], check=True, capture_output=True)
        ms.append(1e3 * (time.perf_counter() - start))
    common.emit(peer=args.module, case="import", threads=args.threads, first_ms=ms[0], **common.timing(ms[1:]),
                peak_rss_mb=float(output.stdout))


if __name__ == "__main__":
    main()
