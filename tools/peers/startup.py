"""A Python that imports a framework: seconds and memory of the whole process."""

import subprocess
import sys

import common

CODE = "import {}, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"


def main():
    args = common.options(__doc__, module={"default": "torch"})
    samples = []
    for _ in range(args.rounds + 1):
        watch = common.Stopwatch()
        output = subprocess.run([sys.executable, "-c", CODE.format(args.module)], check=True, capture_output=True)
        samples.append(watch.sample())
    common.emit(peer=args.module, case="import", threads=args.threads, first_ms=samples[0][0],
                **common.timing(samples[1:], threads=0),
                peak_rss_mb=float(output.stdout))


if __name__ == "__main__":
    main()
