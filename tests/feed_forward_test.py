"""train, decode and info with feed-forward networks of all kinds, experts among them."""

import json
import unittest

from program import PAIRS, TINY, ProgramTest, hash_of

WIDTH = TINY.index("--d-ff")
NO_WIDTH = TINY[:WIDTH] + TINY[WIDTH + 2:]


class FeedForward(ProgramTest):
    def train(self, name, *arguments, common=TINY):
        model = self.folder / name
        self.run_ok("train", "--model", model, "--train", self.tsv(), *common, *arguments)
        return model

    def config(self, model):
        return json.loads((model / "config.json").read_text(encoding="utf-8"))

    def lines(self, model):
        return [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]

    def test_every_kind_learns(self):
        for kind in (["--activation", "none"], ["--activation", "sigmoid"],
                     ["--activation", "silu", "--gated"], ["--activation", "none", "--gated"],
                     ["--experts", 3], ["--experts", 4, "--experts-top-k", 1, "--gated"]):
            name = "-".join(map(str, kind)).replace("--", "")
            first, *_, last = self.lines(self.train(name, "--steps", 60, "--log-every", 10, *kind))
            self.assertLess(last["loss"], 0.7 * first["loss"], kind)

    def test_experts_give_the_same_hash_for_any_threads_and_after_a_stop(self):
        kind = ["--experts", 3, "--dropout", 0.1, "--log-every", 8]
        whole = self.train("whole", "--steps", 30, *kind)
        threads = self.train("threads", "--steps", 30, *kind, "--threads", 3)
        self.train("parts", "--steps", 16, *kind)
        parts = self.train("parts", "--steps", 30, *kind)
        expected = hash_of(whole / "model.safetensors")
        self.assertEqual(hash_of(threads / "model.safetensors"), expected)
        self.assertEqual(hash_of(parts / "model.safetensors"), expected)
        use = [line["experts"] for line in self.lines(whole)]
        self.assertEqual(use, [line["experts"] for line in self.lines(parts) if line["kind"] == "train"])
        self.assertEqual(list(use[0]), ["encoder.layers.0", "decoder.layers.0"])
        for layer in use[-1].values():
            self.assertAlmostEqual(sum(layer["load"]), 1, delta=1e-6)

    def test_experts_decode_what_they_learnt_by_heart(self):
        model = self.train("experts", "--steps", 300, "--experts", 3, "--gated", "--activation", "silu")
        words = "".join(source + "\n" for source, _ in PAIRS)
        done = self.run_ok("decode", "--model", model, "--beam", 3, stdin=words)
        right = sum(a == b for a, (_, b) in zip(done.stdout.splitlines(), PAIRS, strict=True))
        self.assertGreaterEqual(right, len(PAIRS) - 2)

    def test_the_width_is_four_times_the_models_unless_given(self):
        model = self.train("wide", "--steps", 1, common=NO_WIDTH)
        self.assertEqual(self.config(model)["d_ff"], 128)
        self.train("wide", "--steps", 2, "--d-ff", 128, common=NO_WIDTH)  # the same run goes on

    def test_info_shows_the_tree(self):
        model = self.train("tree", "--steps", 1, "--experts", 2, "--gated")
        tree = self.run_ok("info", model).stdout
        for line in ("Transformer(  # ", "      (0): EncoderLayer(  # ", "(0-1): 2 x FeedForward(  # ",
                     "(linear3): Linear(weight [64, 32], bias [64])  # 2112 parameters",
                     "gate", "(dropout): Dropout(p=0)"):
            self.assertIn(line, tree)

    def test_info_shows_the_load_of_experts(self):
        model = self.train("load", "--steps", 4, "--log-every", 4, "--experts", 2)
        experts = json.loads(self.run_ok("info", model, "--json").stdout)["experts"]
        self.assertEqual(experts, self.lines(model)[-1]["experts"])
        self.assertIn("encoder.layers.0", self.run_ok("info", model).stdout)
        dense = self.train("dense", "--steps", 4)
        self.assertNotIn("experts", json.loads(self.run_ok("info", dense, "--json").stdout))

    def test_mistakes_are_named(self):
        start = ["train", "--model", self.folder / "x", "--train", self.tsv(), *TINY, "--steps", 1]
        self.assert_fails(2, "experts_top_k is 3, but there are 2 experts",
                          arguments=[*start, "--experts", 2, "--experts-top-k", 3])
        self.assert_fails(2, "--experts-top-k", arguments=[*start, "--experts-top-k", 0])
        self.assert_fails(2, "--expert-every", arguments=[*start, "--expert-every", 0])
        self.assert_fails(2, "--balance", arguments=[*start, "--balance", -1])
        self.assert_fails(2, "--activation", arguments=[*start, "--activation", "tanh"])
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
