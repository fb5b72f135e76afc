"""docs/guide/performance.md: a summary with one row a kind of work, then a table of every group."""

import platform
import typing

from results import compare, geometric_mean, number, time_of


class Cell(typing.NamedTuple):
    ratio: float
    ours: str
    theirs: str = ""
    text: str = ""  # instead of the ratio

    def shown(self):
        return self.text or f"{self.ratio:.2f}"


def speed(case, peer="torch", threads=1, other=None, **dims):
    """Their time over ours; `other`: what their case is called."""
    def cell(results):
        ours = results.best("rapt", case, threads, **dims)
        theirs = results.best(peer, other or case, threads, **({} if other == "import" else dims))
        return ours and theirs and Cell(*compare(ours, theirs))
    return cell


def worst(*cells):
    def cell(results):
        found = [c for c in (of(results) for of in cells) if c]
        return min(found, key=lambda c: c.ratio) if found else None
    return cell


def products(kind, rows, other=None, pick=geometric_mean):
    """Matrix products whose number of rows fits, ours `kind`, theirs `other`: their time over ours."""
    def cell(results):
        ratios, speeds = [], []
        for case in results.cases(f"gemm_{kind}_float32_"):
            shape = case.removeprefix(f"gemm_{kind}_float32_")
            ours, theirs = results.best("rapt", case), results.best("torch", f"gemm_{other or kind}_float32_{shape}")
            if theirs and rows(int(shape.split("x")[0])):
                ratios.append(compare(ours, theirs)[0])
                speeds.append(2e-6 * product(shape) / time_of(ours))
        if not ratios:
            return None
        ratio, gflops = pick(ratios), geometric_mean(speeds)
        if pick is min:
            return Cell(ratio, "")
        return Cell(ratio, f"{number(gflops)} GFLOP/s", f"{number(gflops / ratio)} GFLOP/s")
    return cell


def product(shape):
    m, n, k = map(int, shape.split("x"))
    return m * n * k


def at_least(m):
    return lambda rows: rows >= m


def exactly(m):
    return lambda rows: rows == m


def share(field, case, peer, threads=1, **dims):
    """Our memory as a share of theirs."""
    def cell(results):
        ours, theirs = results.best("rapt", case, threads, **dims), results.best(peer, case, threads, **dims)
        return ours and theirs and Cell(ours[field] / theirs[field], f"{number(ours[field])} MB",
                                        f"{number(theirs[field])} MB")
    return cell


def of_peak(case, least):
    """The least share of the multiply-add peak, of sentences of at least so many tokens."""
    def cell(results):
        shares = [peers["rapt"]["peak_percent"] for (threads, name, dims), peers in results.lines.items()
                  if (threads, name) == (1, case) and dict(dims)["T"] >= least and "rapt" in peers]
        return Cell(min(shares), "", text=f"{min(shares):.0f} %") if shares else None
    return cell


def second_thread(case, **dims):
    """How much faster two threads are than one."""
    def cell(results):
        one, two = (results.best("rapt", case, threads, **dims) for threads in (1, 2))
        return one and two and Cell(time_of(one) / time_of(two), f"{number(time_of(two))} ms")
    return cell


def beyond_results(case, threads=1, **dims):
    """Memory a thread takes beside the results."""
    def cell(results):
        line = results.best("rapt", case, threads, **dims)
        return line and Cell(0, f"results {number(line['results_mb'])} MB", text=f"{number(line['extra_mb'])} MB")
    return cell


def cost(case, plain):
    """How much longer a case takes than the plain one."""
    def cell(results):
        ours, without = results.best("rapt", case), results.best("rapt", plain)
        if not ours or not without:
            return None
        more = time_of(ours) / time_of(without) - 1
        return Cell(more, f"{number(time_of(ours))} ms", f"plain {number(time_of(without))} ms", f"{100 * more:.1f} %")
    return cell


LONG = (512, 1024, 2048)
SUMMARY = (
    ("attention forward, dense, D = 64, one thread, T = 32–128 / 512 / 2,048",
     [worst(*(speed("attention_dense_forward", T=t, D=64) for t in (32, 64, 128))),
      *(speed("attention_dense_forward", T=t, D=64) for t in (512, 2048))]),
    ("the same, backward",
     [worst(*(speed("attention_dense_backward", T=t, D=64) for t in (32, 64, 128))),
      *(speed("attention_dense_backward", T=t, D=64) for t in (512, 2048))]),
    ("attention forward, causal, T = 128 / 512 / 2,048",
     [speed("attention_causal_forward", T=t, D=64) for t in (128, 512, 2048)]),
    ("attention with dropout 0.1, T = 512, forward / backward",
     [speed(f"attention_dropout_{way}", T=512, D=64) for way in ("forward", "backward")]),
    ("ragged sentences of 5–60 tokens against padding and a mask, forward / backward",
     [speed(f"attention_ragged_{way}", T=60) for way in ("forward", "backward")]),
    ("attention in % of the multiply-add peak, T ≥ 512, forward / backward",
     [of_peak(f"attention_dense_{way}", 512) for way in ("forward", "backward")]),
    ("gain of the second thread, T = 512, forward / backward",
     [second_thread(f"attention_dense_{way}", T=512, D=64) for way in ("forward", "backward")]),
    ("attention memory at T = 8,192 beyond the results, one / two threads",
     [beyond_results("attention_memory", threads, T=8192) for threads in (1, 2)]),
    ("matrix product, M ≥ 512, geometric mean, NN / NT / TN",
     [products(kind, at_least(512)) for kind in ("nn", "nt", "tn")]),
    ("the worst of those shapes, NN / NT / TN", [products(kind, at_least(512), pick=min) for kind in ("nn", "nt", "tn")]),
    ("prepacked weights, M = 1 / 8 / 64, against torch NT", [products("packed", exactly(m), "nt") for m in (1, 8, 64)]),
    ("the same against NN, weights transposed beforehand", [products("packed", exactly(m), "nn") for m in (1, 8, 64)]),
    ("GELU in the epilogue, cost over plain at (512, 2048, 512)",
     [cost("gemm_packed_gelu_float32_512x2048x512", "gemm_packed_float32_512x2048x512")]),
    ("LayerNorm forward / backward [6400, 512], one thread",
     [speed(f"layer_norm_{way}") for way in ("forward", "backward")]),
    ("residual + dropout + LayerNorm forward / backward, one thread",
     [speed(f"dropout_add_norm_{way}") for way in ("forward", "backward")]),
    ("feed-forward 512–2048–512 ReLU dropout 0.1 on (64, 100, 512), forward + backward, 1 / 2 threads",
     [speed("feed_forward_train_forward_backward", threads=n) for n in (1, 2)]),
    ("smoothed cross-entropy on 1,024 × 32,000 logits, forward + backward, one thread",
     [speed("cross_entropy_smoothed_forward_backward_32000")]),
    ("Adam with gradient reset, against torch fused with zero_grad, 1 / 2 threads",
     [speed("adam_fused", threads=n) for n in (1, 2)]),
    ("training step tiny, 1 / 2 threads, against PyTorch eager", [speed("train_tiny", threads=n) for n in (1, 2)]),
    ("the same, 2 threads, against Marian", [speed("train_tiny", "marian", 2)]),
    ("training step g2p, 2 threads, against PyTorch", [speed("train_g2p", threads=2)]),
    ("training step base, 1 / 2 threads, against PyTorch eager", [speed("train_base", threads=n) for n in (1, 2)]),
    ("the same, 2 threads, against Marian", [speed("train_base", "marian", 2)]),
    ("peak memory of the base step, share of PyTorch's, 1 / 2 threads",
     [share("peak_rss_mb", "train_base", "torch", n) for n in (1, 2)]),
    *((f"decoding {size}, batch {batch}, {threads} thread{'s' * (threads > 1)}, beam 1 / 4, against CTranslate2",
       [speed(f"decode_beam{beam}_batch{batch}", "ctranslate2", threads, size=size) for beam in (1, 4)])
      for size, batch, threads in (("base", 64, 1), ("base", 64, 2), ("base", 1, 1), ("base", 1, 2),
                                   ("tiny", 1, 1), ("tiny", 64, 1), ("g2p", 1, 1), ("g2p", 64, 1))),
    ("the same, base, batch 64, 2 threads, where each of its threads has a batch",
     [speed(f"decode_beam{beam}_batch64", "ctranslate2", 2, f"decode_beam{beam}_batch64_by_batches", size="base")
      for beam in (1, 4)]),
    *((f"resident memory of decoding base, {when}, share of CTranslate2's, 1 / 2 threads",
       [share(field, "decode_beam4_batch64", "ctranslate2", n, size="base") for n in (1, 2)])
      for when, field in (("at its peak", "peak_rss_mb"), ("after it", "rss_mb"))),
    ("encoder only, base, 64 sentences of 5–60 tokens, against TransformerEncoder's nested path, 1 / 2 threads",
     [speed("encoder_nested", threads=n) for n in (1, 2)]),
    ("one word decoded, process start included, against import torch", [speed("startup_decode_one_word", other="import")]),
)


def summary(results):
    rows = ["| work | ratio | rapt | other |", "|---|---:|---:|---:|"]
    for work, cells in SUMMARY:
        found = [cell(results) for cell in cells]
        if not any(found):
            continue
        columns = [" / ".join(getter(c) if c else "–" for c in found)
                   for getter in (Cell.shown, lambda c: c.ours, lambda c: c.theirs)]
        rows.append(f"| {work} | " + " | ".join("" if set(c) <= set(" /") else c for c in columns) + " |")
    return rows


def table(results, title, threads):
    """Every case of a group, and what both programs say of their memory."""
    rows = ["| work | rapt | other | ratio |", "|---|---:|---:|---:|"]
    memory = []
    for case, dims, ours, theirs in results.pairs(title, threads):
        where = " ".join([case, *(f"{k}={v}" for k, v in dims if k != "size")])
        peer = theirs["peer"] + (" " + theirs["case"] if theirs["case"] != case else "")
        if time_of(ours):
            ratio, our_text, their_text = compare(ours, theirs)
            rows.append(f"| {where} | {our_text} | {peer} {their_text} | {ratio:.2f} |")
        for field in ("peak_rss_mb", "model_rss_mb"):
            if field in ours and field in theirs:
                memory.append(f"| {where} {field} | {number(ours[field])} | {peer} {number(theirs[field])} | "
                              f"{ours[field] / theirs[field]:.2f} of it |")
    return rows + memory


def page(results, versions, command, failures):
    machine = next(iter(results.machine.values()), {})
    lines = ["# Performance", "",
             "rapt and others on the same machine in the same run, by turns, float32, as `tools/bench_peers` printed it.",
             "Times are those of the best turn: of the processor with one thread, on the wall with more. A ratio above 1",
             "means that rapt is faster; memory is a share of the other's. [Benchmarks](benchmarks.md) says what is",
             "measured.", "",
             f"* Command: `{command}`",
             f"* CPU: {machine.get('cpu')}, {machine.get('simd')}; {platform.system()}, Python {platform.python_version()}",
             *(f"* Multiply-add peak with {threads} thread{'s' * (threads > 1)}: {number(peak['gflops'])} GFLOP/s; "
               f"copies, read and written: {number(peak['gb_per_s'])} GB/s"
               for threads, peak in sorted(results.machine.items())),
             "* " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())),
             *(f"* Not measured: {what}" for what in failures), "",
             "## In one table", "", *summary(results), ""]
    for title, threads in results.titles:
        rows = table(results, title, threads)
        if len(rows) > 2:
            lines += [f"## {title}, {threads} thread{'s' * (threads > 1)}", "", *rows, ""]
    return "\n".join(lines)
