"""CTranslate2: decoding with random weights in the cases of `rapt bench decode`."""

import pathlib
import random
import tempfile
import time

import common

LENGTH = 20


def random_model(ctranslate2, numpy, size, vocabulary, folder):
    """A post-norm Transformer whose embeddings and output are one table."""
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


def main():
    args = common.options(__doc__, size={"choices": common.SIZES, "default": "base"},
                          vocabulary={"type": int, "default": 9712})
    import ctranslate2
    import numpy
    draw = random.Random(1)
    sentences = [[f"w{draw.randrange(args.vocabulary - 4)}" for _ in range(10 + i % 9)] + ["</s>"] for i in range(64)]
    shape = {"size": args.size, "vocabulary": args.vocabulary, "target_length": LENGTH}
    with tempfile.TemporaryDirectory() as folder:
        random_model(ctranslate2, numpy, args.size, args.vocabulary, folder)
        size = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
        before, start = common.rss_mb(), time.perf_counter()
        translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=args.threads)
        load_s = time.perf_counter() - start
    common.emit(peer="ctranslate2", case="load", threads=args.threads, dtype="float32", shape=shape, load_s=load_s,
                model_mb=size / 2**20, model_rss_mb=common.rss_mb() - before, version=ctranslate2.__version__)

    def decode(batch, beam):
        some = sentences if batch > 1 else sentences[:18]
        for i in range(0, len(some), batch):
            for result in translator.translate_batch(some[i:i + batch], beam_size=beam, min_decoding_length=LENGTH,
                                                     max_decoding_length=LENGTH):
                assert len(result.hypotheses[0]) == LENGTH

    for batch, count in ((1, 18), (64, 64)):
        cases = {beam: lambda batch=batch, beam=beam: decode(batch, beam) for beam in (1, 4)}
        for beam, times in common.interleave(cases, args).items():
            common.emit(peer="ctranslate2", case=f"decode_beam{beam}_batch{batch}", threads=args.threads,
                        dtype="float32", shape={**shape, "sentences": count}, **times,
                        ms_per_sentence=times["ms"] / count, tokens_per_s=1e3 * count * LENGTH / times["ms"],
                        rss_mb=common.rss_mb(), peak_rss_mb=common.peak_rss_mb())


if __name__ == "__main__":
    main()
