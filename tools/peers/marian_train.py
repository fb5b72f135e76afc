"""Marian: training steps on the pairs of `rapt bench train`, through the wheel `pymarian`.

Marian makes its own batches, so tokens a second count. The threads split each batch and update together. The first
three updates, which allocate, are not counted.
"""

import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import common
import corpus

WARM_UP = 3
UPDATE = re.compile(r"Cost (?P<loss>[\d.]+) .*?Time (?P<seconds>[\d.]+)s : (?P<rate>[\d.]+) words/s")


def write_data(folder, pairs, vocabulary):
    """Ids as words: Marian numbers </s> and <unk> first, then the words in the order of their ids."""
    for name, side in (("source", 0), ("target", 1)):
        folder.joinpath(name).write_text("".join(" ".join(map(str, pair[side])) + "\n" for pair in pairs))
    words = ["</s>", "<unk>", *map(str, range(corpus.UNKNOWN + 1, vocabulary))]
    folder.joinpath("words.yml").write_text("".join(f"{json.dumps(word)}: {i}\n" for i, word in enumerate(words)))


def settings(args, folder):
    d_model, d_ff, heads, layers, dropout = common.SIZES[args.size]
    words = folder / "words.yml"
    return {
        "type": "transformer", "train-sets": [folder / "source", folder / "target"], "vocabs": [words, words],
        "model": folder / "model.npz", "cpu-threads": args.threads, "sync-sgd": True, "seed": 1, "workspace": 3000,
        "dim-emb": d_model, "transformer-dim-ffn": d_ff, "transformer-heads": heads, "enc-depth": layers,
        "dec-depth": layers, "transformer-ffn-activation": "relu", "tied-embeddings-all": True,
        "transformer-dropout": dropout, "transformer-dropout-attention": dropout, "transformer-dropout-ffn": dropout,
        "label-smoothing": 0.1, "cost-type": "ce-mean-words", "optimizer": "adam", "learn-rate": 1e-4,
        "mini-batch": 2000, "mini-batch-words": args.target_tokens, "mini-batch-round-up": "false", "max-length": 100,
        "after-batches": args.updates, "disp-freq": 1, "save-freq": 1000000, "overwrite": True}


def command(args, folder):
    words = [pathlib.Path(sys.executable).with_name("pymarian"), "train"]
    for name, value in settings(args, folder).items():
        words.append("--" + name)
        words += value if isinstance(value, list) else [] if value is True else [value]
    return list(map(str, words))


def updates_of(log):
    """(loss, seconds, target tokens) of each update."""
    return [(float(m["loss"]), float(m["seconds"]), float(m["seconds"]) * float(m["rate"])) for m in UPDATE.finditer(log)]


def main():
    args = common.options(__doc__, size={"choices": common.SIZES, "default": "tiny"}, data={"required": True},
                          target_tokens={"type": int, "default": 4096}, updates={"type": int, "default": 12})
    pairs, vocabulary = corpus.load(args.data)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_data(folder, pairs, vocabulary)
        done = subprocess.run(command(args, folder), capture_output=True, text=True, check=False)
    updates = updates_of(done.stderr)
    if done.returncode or len(updates) <= WARM_UP:
        sys.exit(done.stderr[-2000:])
    counted = updates[WARM_UP:]
    seconds, tokens = (sum(column) for column in list(zip(*counted))[1:])
    common.emit(peer="marian", case="train_" + args.size, mode="sync", threads=args.threads, dtype="float32",
                shape={"target_tokens": tokens / len(counted), "vocabulary": vocabulary - 2}, steps=len(counted), runs=1,
                ms=1e3 * seconds / len(counted), ms_median=1e3 * statistics.median(s for _, s, _ in counted),
                tokens_per_s=tokens / seconds, first_loss=updates[0][0], last_loss=updates[-1][0],
                peak_rss_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
