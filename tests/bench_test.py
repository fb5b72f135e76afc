"""bench: every group runs, checks itself, and prints JSON with the fields that others print too."""

import json
import random
import unittest

from program import ProgramTest

COMMON = {"peer", "case", "threads"}
TIMED = COMMON | {"shape", "ms", "ms_median", "runs"}


class Bench(ProgramTest):
    def bench(self, *arguments):
        """Its lines, the machine's apart."""
        done = self.run_ok("bench", *arguments, "--threads", 1, "--rounds", 1)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        machine = lines.pop()
        self.assertEqual((machine["peer"], machine["case"]), ("machine", "peak"))
        self.assertGreater(machine["gflops"], 0)
        self.assertGreater(machine["gb_per_s"], 0)
        for line in lines:
            self.assertEqual(line["peer"], "rapt")
            self.assertLessEqual(COMMON, line.keys())
        return lines

    def assert_timed(self, lines, more=()):
        for line in lines:
            self.assertLessEqual(TIMED | set(more), line.keys(), line)
            self.assertGreater(line["ms"], 0)
            self.assertGreater(line.get("cpu_ms", 1), 0)
            self.assertLessEqual(line["ms"], line["ms_median"])

    def test_train(self):
        fields = ["mode", "tokens_per_s", "tokens_per_s_median", "source_target_tokens_per_s", "padding_percent",
                  "first_step_s", "first_loss", "last_loss", "peak_rss_mb", "peak_gflops", "steps"]
        (line,) = self.bench("train", "--size", "g2p", "--target-tokens", 60, "--steps", 2)
        self.assert_timed([line], fields)
        self.assertEqual((line["case"], line["steps"], line["padding_percent"]), ("train_g2p", 2, 0))
        self.assertLessEqual(line["shape"]["target_tokens"], 60)
        self.assertLess(line["last_loss"], line["first_loss"])

    def test_train_profile_adds_up(self):
        lines = self.bench("train", "--size", "g2p", "--target-tokens", 60, "--steps", 1, "--profile")[1:]
        *rows, whole = lines
        self.assertEqual(whole["op"], "all")
        self.assertAlmostEqual(sum(row["percent"] for row in rows), 100, delta=0.5)
        ops = {row["op"] for row in rows}
        for op in ("linear 768", "linear 768 backward", "attention 256 backward", "linear_cross_entropy", "update"):
            self.assertIn(op, ops)
        for row in rows:
            self.assertLessEqual({"ms", "calls", "mb"}, row.keys())
            self.assertEqual("peak_percent" in row, row["op"].split()[0] in ("linear", "attention") or
                             row["op"] == "linear_cross_entropy", row)

    def test_train_steps_on_the_batches_of_the_rule(self):
        words = ["ab", "b", "ca", "abc", "c", "cc", "bab", "acca"]
        pairs = [(word, " ".join(reversed(word.upper()))) for word in words]
        lengths = sorted((len(t.split()), len(s)) for s, t in pairs)
        batches, tokens = [[]], 0
        for target, source in lengths:
            if batches[-1] and tokens + target + 1 > 6:
                batches.append([])
                tokens = 0
            batches[-1].append((source, target))
            tokens += target + 1
        random.Random(1).shuffle(batches)
        first = batches[0]
        data = self.tsv(pairs=pairs)
        (line,) = self.bench("train", "--data", data, "--size", "g2p", "--target-tokens", 6, "--steps", 1)
        self.assertEqual(line["shape"]["vocabulary"], 4 + len(set("".join(words))) * 2)
        self.assertEqual(line["shape"]["pairs"], len(first))
        self.assertEqual(line["shape"]["target_tokens"], sum(t + 1 for _, t in first))

    def test_decode(self):
        load, *lines = self.bench("decode", "--size", "tiny", "--vocabulary", 60)
        self.assertLessEqual(COMMON | {"load_s", "model_mb", "model_rss_mb"}, load.keys())
        self.assert_timed(lines, ["ms_per_sentence", "tokens_per_s", "rss_mb", "peak_rss_mb"])
        self.assertEqual([line["case"] for line in lines],
                         ["decode_beam1_batch1", "decode_beam4_batch1", "decode_beam1_batch64", "decode_beam4_batch64"])

    def test_decode_profile(self):
        lines = self.bench("decode", "--size", "tiny", "--vocabulary", 60, "--beam", 2, "--batch", 3, "--profile")
        rows = [line for line in lines if line["case"] == "profile_beam2_batch3"]
        self.assertIn("attention_cached 128", {row["op"] for row in rows})
        self.assertIn("linear 60", {row["op"] for row in rows})

    def test_encode(self):
        lines = self.bench("encode", "--size", "tiny")
        self.assert_timed(lines, ["gflops", "peak_percent", "tokens_per_s"])

    def test_startup(self):
        lines = self.bench("startup", "--size", "tiny", "--vocabulary", 60)
        self.assert_timed(lines, ["first_ms", "peak_rss_mb", "install_mb"])
        self.assertEqual({line["case"] for line in lines}, {"startup_version", "startup_decode_one_word"})

    def test_attention(self):
        growth, *lines, memory = self.bench("attention", "--tokens", 64, "--longest", 64)
        self.assertEqual(growth["case"], "attention_memory")
        self.assertLess(growth["extra_mb"], 4)
        self.assert_timed(lines, ["gflops", "peak_percent", "layout"])
        cases = {line["case"] for line in lines}
        for kind in ("dense", "causal", "key_mask", "dropout", "ragged"):
            self.assertLessEqual({f"attention_{kind}_forward", f"attention_{kind}_forward_backward"}, cases)
        self.assertGreater(memory["peak_rss_mb"], 0)

    def test_gemm_and_layers_with_small_work(self):
        lines = self.bench("gemm", "--small")
        self.assert_timed(lines, ["gflops", "peak_percent"])
        for kind in ("nn", "nt", "tn", "packed", "packed_gelu"):
            self.assertTrue(any(line["case"].startswith(f"gemm_{kind}_float32_") for line in lines), kind)
        lines = self.bench("layers", "--small")
        self.assert_timed(lines)
        cases = {line["case"] for line in lines}
        self.assertLessEqual({"layer_norm_backward", "dropout_add_norm_forward", "adamw_fused",
                              "feed_forward_train_forward_backward", "cross_entropy_smoothed_forward_backward_97"},
                             cases)
        self.assertIn("ns_per_parameter", lines[-1])

    def test_simd_holds_the_kernels_to_a_target(self):
        message = self.assert_fails(2, "mmx", arguments=["bench", "encode", "--simd", "mmx"]).stderr
        least = message.strip().split("have ")[-1].split(", ")[-1]
        done = self.run_ok("bench", "encode", "--rounds", 1, "--threads", 1, "--simd", least)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["simd"], least)

    def test_what_is_no_group_is_refused(self):
        self.assert_fails(2, "sleep", arguments=["bench", "sleep"])


if __name__ == "__main__":
    unittest.main()
