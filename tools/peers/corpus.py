"""The token ids and batches of `rapt bench train --data`, by the rule of apps/rapt/bench/pairs.h."""

import collections
import pathlib
import random

PAD, BEGIN, END, UNKNOWN = range(4)


def read(path):
    """Pairs of token lists: words of train.en and train.de in a folder, or a TSV of spelling and phonemes."""
    path = pathlib.Path(path)
    if path.is_dir():
        source, target = (path.joinpath("train." + side).read_text("utf-8").splitlines() for side in ("en", "de"))
        return [(s.split(), t.split()) for s, t in zip(source, target, strict=True)]
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return [(list(word), phonemes.split()) for word, phonemes in rows]


def load(path):
    """Pairs of id lists, and the size of the joint vocabulary."""
    pairs = read(path)
    counts = collections.Counter(token for pair in pairs for side in pair for token in side)
    order = sorted(counts, key=lambda token: (-counts[token], token))
    ids = {token: i for i, token in enumerate(order, start=UNKNOWN + 1)}
    return [([ids[t] for t in source], [ids[t] for t in target]) for source, target in pairs], len(ids) + 4


def batches(pairs, target_tokens):
    result, tokens = [[]], 0
    for pair in sorted(pairs, key=lambda p: (len(p[1]), len(p[0]))):
        more = len(pair[1]) + 1
        if result[-1] and tokens + more > target_tokens:
            result.append([])
            tokens = 0
        result[-1].append(pair)
        tokens += more
    random.Random(1).shuffle(result)
    return result


def padded(rows):
    longest = max(len(row) for row in rows)
    return [row + [PAD] * (longest - len(row)) for row in rows]


def tensors(batch):
    """Source, decoder input and decoder output, padded."""
    return (padded([s + [END] for s, _ in batch]), padded([[BEGIN] + t for _, t in batch]),
            padded([t + [END] for _, t in batch]))
