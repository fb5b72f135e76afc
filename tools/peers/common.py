"""What the programs beside this one share: options, timing in rounds, lines of JSON, memory."""

import argparse
import json
import math
import os
import resource
import statistics
import time

# d_model, d_ff, heads, layers of encoder and decoder, dropout: as `rapt bench --size`.
SIZES = {"tiny": (128, 256, 4, 4, 0.3), "g2p": (256, 1024, 4, 3, 0.1), "base": (512, 2048, 8, 6, 0.1)}


def options(description, **extra):
    """--threads and --rounds, and what `extra` gives: name to the arguments of add_argument.

    Frameworks read their number of threads from the environment, so import them afterwards.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    for name, settings in extra.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    arguments = parser.parse_args()
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ[library + "_NUM_THREADS"] = str(arguments.threads)
    return arguments


def torch_of(arguments):
    import torch
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    return torch


def emit(**line):
    print(json.dumps({k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in line.items()}), flush=True)


class Stopwatch:
    """Milliseconds on the wall, and of the processor in all threads of this process."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def sample(self):
        return tuple(1e3 * (now - then) for now, then in zip((time.perf_counter(), time.process_time()), self.start))


def timing(samples, threads):
    wall, cpu = zip(*samples)
    of_cpu = {"cpu_ms": min(cpu)} if threads == 1 else {}
    return {"ms": min(wall), "ms_median": statistics.median(wall), **of_cpu, "runs": len(wall)}


def interleave(cases, arguments):
    """{name: function} to {name: timing}: each is called once a round, or for 20 ms if it is short."""
    def sample(run, times):
        watch = Stopwatch()
        for _ in range(times):
            run()
        return tuple(ms / times for ms in watch.sample())

    for run in cases.values():
        run()
    times = {name: max(1, math.ceil(20 / sample(run, 1)[0])) for name, run in cases.items()}
    samples = {name: [] for name in cases}
    for _ in range(arguments.rounds):
        for name, run in cases.items():
            samples[name].append(sample(run, times[name]))
    return {name: timing(of_case, arguments.threads) for name, of_case in samples.items()}


def peak_rss_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rss_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
