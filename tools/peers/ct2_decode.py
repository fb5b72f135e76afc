"""CTranslate2: decoding with random weights in the cases of `rapt bench decode`."""

import pathlib
import random
import subprocess
import sys
import tempfile
import time

import common

LENGTH = 20


def random_model(size, vocabulary, folder):
    """A post-norm Transformer whose embeddings and output are one table."""
    import ctranslate2
    import numpy
    d_model, d_ff, heads, layers, _ = common.SIZES[size]
    draw = numpy.random.default_rng(1)

    def matrix(rows, columns):
        return draw.standard_normal((rows, columns), dtype=numpy.float32) / columns**0.5

    def fill_linear(spec, rows, columns):
        spec.weight, spec.bias = matrix(rows, columns), numpy.zeros(rows, numpy.float32)

    def fill_norm(spec):
        spec.gamma, spec.beta = numpy.ones(d_model, numpy.float32), numpy.zeros(d_model, numpy.float32)

    def fill_attention(spec, *parts):
        for linear, part in zip(spec.linear, parts, strict=True):
            fill_linear(linear, part * d_model, d_model)
        fill_norm(spec.layer_norm)

    spec = ctranslate2.specs.TransformerSpec.from_config((layers, layers), heads, pre_norm=False)
    table = matrix(vocabulary, d_model)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    for layer in [*spec.encoder.layer, *spec.decoder.layer]:
        fill_attention(layer.self_attention, 3, 1)
        if hasattr(layer, "attention"):
            fill_attention(layer.attention, 1, 2, 1)
        fill_linear(layer.ffn.linear_0, d_ff, d_model)
        fill_linear(layer.ffn.linear_1, d_model, d_ff)
        fill_norm(layer.ffn.layer_norm)
    words = ["<blank>", "<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(vocabulary - 4)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.optimize()
    spec.save(folder)


def write_elsewhere(args, folder):
    """By a process of its own, so that the memory it takes does not count here."""
    subprocess.run([sys.executable, __file__, "--size", args.size, "--vocabulary", str(args.vocabulary), "--write", folder],
                   check=True)
    return sum(file.stat().st_size for file in pathlib.Path(folder).iterdir()) / 2**20


def measure(translator, args, shape, batch, count, ending="", most=0):
    """`count` sentences in calls of `batch`, of which CTranslate2 makes batches of at most `most`."""
    draw = random.Random(1)
    sentences = [[f"w{draw.randrange(args.vocabulary - 4)}" for _ in range(10 + i % 9)] + ["</s>"] for i in range(count)]

    def decode(beam):
        for i in range(0, count, batch):
            for result in translator.translate_batch(sentences[i:i + batch], beam_size=beam, max_batch_size=most,
                                                     min_decoding_length=LENGTH, max_decoding_length=LENGTH):
                assert len(result.hypotheses[0]) == LENGTH

    cases = {beam: lambda beam=beam: decode(beam) for beam in (1, 4)}
    for beam, times in common.interleave(cases, args).items():
        common.emit(peer="ctranslate2", case=f"decode_beam{beam}_batch{batch}{ending}", threads=args.threads,
                    dtype="float32", shape={**shape, "sentences": count}, **times,
                    ms_per_sentence=times["ms"] / count, tokens_per_s=1e3 * count * LENGTH / times["ms"],
                    rss_mb=common.rss_mb(), peak_rss_mb=common.peak_rss_mb())


def main():
    args = common.options(__doc__, size={"choices": common.SIZES, "default": "base"},
                          vocabulary={"type": int, "default": 9712}, write={"help": "write a model to this folder"})
    if args.write:
        return random_model(args.size, args.vocabulary, args.write)
    import ctranslate2
    shape = {"size": args.size, "vocabulary": args.vocabulary, "target_length": LENGTH}
    with tempfile.TemporaryDirectory() as folder:
        model_mb = write_elsewhere(args, folder)
        before, start = common.rss_mb(), time.perf_counter()
        translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=args.threads)
        common.emit(peer="ctranslate2", case="load", threads=args.threads, dtype="float32", shape=shape,
                    load_s=time.perf_counter() - start, model_mb=model_mb, model_rss_mb=common.rss_mb() - before,
                    version=ctranslate2.__version__)
        measure(translator, args, shape, 1, 18)
        measure(translator, args, shape, 64, 64)
        if args.threads > 1:  # the threads on batches of their own, over shared weights
            del translator
            translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=args.threads,
                                                intra_threads=1)
            measure(translator, args, shape, 64, 64, "_by_batches", 64 // args.threads)


if __name__ == "__main__":
    main()
