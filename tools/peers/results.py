"""What the programs printed: of each case the best line of each program."""

import math

# Cases of rapt whose counterpart has another name.
OTHERS = {"gemm_packed_float32": ["gemm_nt_float32", "gemm_nn_float32"], "startup_version": ["import"],
          "startup_decode_one_word": ["import"]}


def time_of(line):
    """Milliseconds; with one thread those of the processor, which neighbours on the machine change less."""
    return line.get("cpu_ms", line.get("ms", 0))


def counterparts(case):
    for ours, theirs in OTHERS.items():
        if case.startswith(ours):
            return [name + case.removeprefix(ours) for name in theirs]
    return [case]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def number(x):
    return f"{x:.3g}" if x < 1000 else f"{x:,.0f}"


def compare(ours, theirs):
    """Their time over ours, and both as text. Marian makes batches of its own: there tokens a second count."""
    if theirs["peer"] == "marian":
        ours, theirs = ours["tokens_per_s"], theirs["tokens_per_s"]
        return ours / theirs, f"{number(ours)} tok/s", f"{number(theirs)} tok/s"
    ours, theirs = time_of(ours), time_of(theirs)
    return theirs / ours, f"{number(ours)} ms", f"{number(theirs)} ms"


class Results:
    def __init__(self):
        self.lines = {}  # (threads, case, dimensions) to {peer: line}
        self.titles = {}  # (title, threads) to the keys of its lines, in order
        self.machine = {}  # threads to the best of the machine's lines

    @staticmethod
    def key(line):
        dims = {k: v for k, v in line.get("shape", {}).items() if k in ("B", "T", "D", "size")}
        return line["threads"], line["case"], tuple(sorted(dims.items()))

    def add(self, line, title=""):
        if line["peer"] == "machine":
            best = self.machine.setdefault(line["threads"], dict(line))
            for field in ("gflops", "gb_per_s"):
                best[field] = max(best[field], line[field])
            return
        key = self.key(line)
        peers = self.lines.setdefault(key, {})
        before = peers.get(line["peer"])
        if before is None or time_of(line) < time_of(before):
            peers[line["peer"]] = line
        keys = self.titles.setdefault((title, line["threads"]), [])
        if key not in keys:
            keys.append(key)

    def add_backward(self):
        """Backward alone: what forward and backward take more than forward."""
        for keys in self.titles.values():
            for key in [key for key in keys if key[1].endswith("_forward_backward")]:
                threads, case, dims = key
                forward = self.lines.get((threads, case.removesuffix("_backward"), dims), {})
                alone = threads, case.replace("_forward_backward", "_backward"), dims
                for peer, both in self.lines[key].items():
                    if peer in forward and time_of(both) > time_of(forward[peer]):
                        self.lines.setdefault(alone, {})[peer] = difference(both, forward[peer]) | {"case": alone[1]}
                if alone in self.lines and alone not in keys:
                    keys.append(alone)

    def best(self, peer, case, threads=1, **dims):
        """The line of a case, or None; `dims` are those of its dimensions that matter."""
        for (of_threads, name, of_line), peers in self.lines.items():
            if (of_threads, name) == (threads, case) and peer in peers and dims.items() <= dict(of_line).items():
                return peers[peer]
        return None

    def cases(self, start, threads=1):
        """Names of the cases of rapt that start so."""
        return [case for (of_threads, case, _), peers in self.lines.items()
                if of_threads == threads and case.startswith(start) and "rapt" in peers]

    def pairs(self, title, threads):
        """(case, dimensions, line of rapt, line of another)."""
        for key in self.titles[title, threads]:
            _, case, dims = key
            if "rapt" not in self.lines[key]:
                continue
            for name in counterparts(case):
                others = self.lines.get((threads, name, dims)) or self.lines.get((threads, name, ()), {})
                for peer, line in others.items():
                    if peer != "rapt":
                        yield case, dims, self.lines[key]["rapt"], line


def difference(both, forward):
    """The line of what `both` does more than `forward`."""
    ms = time_of(both) - time_of(forward)
    line = {k: v for k, v in both.items() if k not in ("ms", "ms_median", "gflops", "peak_percent")} | {"cpu_ms": ms}
    if "gflops" in both and "gflops" in forward:
        line["gflops"] = (both["gflops"] * both["ms"] - forward["gflops"] * forward["ms"]) / ms
        line["peak_percent"] = line["gflops"] * both["peak_percent"] / both["gflops"]
    return line
