"""train and average: the same files for any number of threads, resumed runs, options, signals."""

import gzip
import json
import os
import signal
import subprocess
import unittest

from program import PAIRS, RAPT, TINY, ProgramTest, hash_of, rapt


class Train(ProgramTest):
    def train(self, name, *arguments, data=None):
        model = self.folder / name
        data = data or [self.tsv()]
        self.run_ok("train", "--model", model, "--train", *data, *TINY, *arguments)
        return model

    def weights(self, name, *arguments, data=None):
        return hash_of(self.train(name, *arguments, data=data) / "model.safetensors")

    def test_the_same_hash_for_any_number_of_threads(self):
        expected = self.weights("one", "--steps", 50, "--dropout", 0.1)
        for threads in (2, 3):
            self.assertEqual(self.weights(f"t{threads}", "--steps", 50, "--dropout", 0.1, "--threads", threads), expected)

    def test_a_resumed_run_has_the_hash_of_one_that_was_not_stopped(self):
        expected = self.weights("whole", "--steps", 50, "--dropout", 0.1)
        self.train("parts", "--steps", 20, "--dropout", 0.1)
        self.assertEqual(self.weights("parts", "--steps", 50, "--dropout", 0.1), expected)

    def test_a_signal_saves_and_the_same_command_goes_on(self):
        expected = self.weights("whole", "--steps", 400, "--dropout", 0.1)
        model, data = self.folder / "stopped", self.tsv()
        command = [RAPT, "train", "--model", str(model), "--train", str(data), *TINY, "--steps", "400", "--dropout", "0.1"]
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            lines = []
            while not any("parameters" in line for line in lines):  # the line before the first update
                lines.append(process.stderr.readline())
                self.assertTrue(lines[-1], "".join(lines))
            process.send_signal(number)
            _, stderr = process.communicate(timeout=120)
            if process.returncode != 0:  # 0: it had ended before the signal came
                self.assertEqual(process.returncode, code, stderr)
        self.assertEqual(subprocess.run(command, capture_output=True, timeout=240).returncode, 0)
        self.assertEqual(hash_of(model / "model.safetensors"), expected)

    def test_two_files_one_tsv_and_gzip_are_the_same_data(self):
        expected = self.weights("tsv", "--steps", 10)
        source = self.write("train.src", "".join(s + "\n" for s, _ in PAIRS))
        target = self.write("train.tgt", "".join(t + "\n" for _, t in PAIRS))
        packed = self.folder / "train.tsv.gz"
        packed.write_bytes(gzip.compress(self.tsv().read_bytes()))
        self.assertEqual(self.weights("files", "--steps", 10, data=[source, target]), expected)
        self.assertEqual(self.weights("gz", "--steps", 10, data=[packed]), expected)

    def test_a_file_of_options_is_the_same_as_the_options(self):
        expected = self.weights("flags", "--steps", 10, "--residual", "pre", "--seed", 3)
        toml = self.write("run.toml", "steps = 10\nresidual = \"pre\"\nseed = 3\n")
        self.assertEqual(self.weights("file", "--config", toml), expected)
        bad = self.write("bad.toml", "d_modle = 8\n")
        self.assert_fails(2, "bad.toml", "d_modle", arguments=[
            "train", "--config", bad, "--model", self.folder / "x", "--train", self.tsv()])

    def test_masks_and_positions_of_attention(self):
        options = ["--heads", 4, "--kv-heads", 2, "--window", 2, "--attention-sink", "--dropout", 0.1,
                   "--log-every", 10]
        for positions in ("rotary", "alibi"):
            with self.subTest(positions):
                told = [*options, "--positions", positions]
                expected = self.weights(positions + "-whole", "--steps", 40, *told)
                self.train(positions, "--steps", 20, *told)
                self.assertEqual(self.weights(positions, "--steps", 40, *told, "--threads", 2), expected)
                log = map(json.loads, (self.folder / positions / "metrics.jsonl").read_text().splitlines())
                losses = [line["loss"] for line in log if line["kind"] == "train"]
                self.assertLess(losses[-1], 0.7 * losses[0])
                out = self.folder / "attention.json"
                self.run_ok("explain", "--model", self.folder / positions, "--input", "abcde", "--kind", "encoder",
                            "--out", out)
                for head in json.loads(out.read_text())["attention"]:
                    for query, row in enumerate(head["weights"]):
                        self.assertLess(sum(row), 1)  # the rest is the sink's
                        for key, weight in enumerate(row):
                            self.assertEqual(weight > 0, abs(query - key) <= 2)
        self.run_ok("check", self.folder / "rotary")
        self.refuses("kv_heads is 3, which does not divide heads 4", "--heads", 4, "--kv-heads", 3)
        self.refuses("choose an even d_k", "--positions", "rotary", "--d-model", 30)
        self.refuses("--window", "--window", -1)
        self.refuses("rotary", "--positions", "rope")

    def refuses(self, message, *arguments):
        """With exit code 2, and nothing is written."""
        model = self.folder / "refused"
        self.assert_fails(2, message, arguments=["train", "--model", model, "--train", self.tsv(), *TINY, *arguments])
        self.assertFalse(model.exists())

    def test_every_residual_and_norm_trains_and_decodes(self):
        seen = set()
        for flags in (["--residual", kind] for kind in ("none", "plain", "post", "pre", "branch", "deepnorm")):
            seen.add(self.weights("-".join(flags), "--steps", 5, *flags))
        for kind in ("rms", "batch", "none"):
            model = self.train(f"norm-{kind}", "--steps", 5, "--norm", kind)
            seen.add(hash_of(model / "model.safetensors"))
            self.assertEqual(len(self.run_ok("decode", "--model", model, stdin="cab\n").stdout.splitlines()), 1)
        self.assertEqual(len(seen), 8)  # without norms post is plain
        for flags, expected in (([], False), (["--final-norm"], True)):  # off with plain unless given
            model = self.train("-".join(["final", *flags]), "--steps", 1, "--residual", "plain", *flags)
            self.assertIs(json.loads((model / "config.json").read_text())["final_norm"], expected)

    def test_a_finished_run_mends_its_model(self):
        model = self.train("mended", "--steps", 5)
        expected = hash_of(model / "model.safetensors")
        (model / "model.safetensors").unlink()
        self.train("mended", "--steps", 5)
        self.assertEqual(hash_of(model / "model.safetensors"), expected)

    def test_going_on_with_other_data_is_refused(self):
        self.train("other", "--steps", 5)
        changed = self.tsv("train.tsv", [("bacde", "e d c a b"), *PAIRS[1:]])  # as many lines and tokens
        self.assert_fails(2, "content", arguments=["train", "--model", self.folder / "other", "--train", changed, *TINY,
                                                   "--steps", 9])

    def test_every_score_learns_resumes_and_decodes(self):
        heads = ("--d-k", 5, "--d-v", 7, "--dropout-attention", 0.05)
        for score in ("scaled-dot", "dot", "bilinear", "additive", "cosine"):
            with self.subTest(score):
                options = ("--score", score, *heads, "--log-every", 10)
                model = self.train(score, "--steps", 60, *options)
                losses = [json.loads(line)["loss"] for line in (model / "metrics.jsonl").read_text().splitlines()]
                self.assertLess(losses[-1], 0.8 * losses[0])
                self.train(score + "2", "--steps", 20, *options)
                resumed = self.train(score + "2", "--steps", 60, *options, "--threads", 2)
                self.assertEqual(hash_of(resumed / "model.safetensors"), hash_of(model / "model.safetensors"))
                self.run_ok("check", model)  # decoding has the bits of the teacher-forced pass
                self.run_ok("explain", "--model", model, "--input", "cab", "--out", self.folder / f"{score}.svg")
                self.assertIn(score, self.run_ok("info", model).stdout)

    def test_validation_chooses_the_best_and_the_log_is_json(self):
        valid = self.tsv("valid.tsv", PAIRS[:8])
        model = self.train("chosen", "--valid", valid, "--steps", 60, "--valid-every", 20, "--metric", "per")
        lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
        kinds = {line["kind"] for line in lines}
        self.assertLessEqual({"train", "valid"}, kinds)
        self.assertTrue(all("loss" in line and "step" in line for line in lines if line["kind"] == "valid"))

    def test_average_of_checkpoints(self):
        model = self.train("averaged", "--steps", 30, "--save-every", 10)
        before = hash_of(model / "model.safetensors")
        out = self.folder / "average"
        self.run_ok("average", "--model", model, "--last", 2, "--out", out)
        self.assertNotEqual(hash_of(out / "model.safetensors"), before)
        self.run_ok("decode", "--model", out, stdin="cab\n")

    def test_a_set_smaller_than_a_batch_and_odd_items_are_reported(self):
        data = self.write("few.tsv", "ab\tb a\n\tx\nabc\tc b a\n")
        done = self.run_ok("train", "--model", self.folder / "few", "--train", data, *TINY, "--steps", 3)
        self.assertIn("1 empty", done.stderr)

    def test_a_text_model_learns_and_writes(self):
        text = self.write("text.txt", "abcabcabc\nabcabc\n" * 200)
        model = self.folder / "lm"
        self.run_ok("train", "--model", model, "--architecture", "decoder", "--text", text, "--tokenizer", "chars", "--context", 16,
                    "--d-model", 32, "--layers", 1, "--heads", 2, "--d-ff", 64, "--dropout", 0, "--batch-tokens", 256,
                    "--lr", 0.01, "--warmup-steps", 10, "--steps", 150, "--threads", 1)
        done = self.run_ok("decode", "--model", model, "--prompt", "abc", "--max-length", 40)
        self.assertTrue(done.stdout.startswith("abcabc"), done.stdout)


class BadInput(ProgramTest):
    def fails(self, code, *fragments, train, extra=()):
        model = self.folder / "model"
        self.assert_fails(code, *fragments, arguments=["train", "--model", model, "--train", *train, *TINY, "--steps", 2, *extra])
        self.assertFalse((model / "model.safetensors").exists())

    def test_files(self):
        self.fails(1, "missing.tsv", train=[self.folder / "missing.tsv"])
        self.fails(1, "empty.tsv", "empty", train=[self.write("empty.tsv", "")])
        self.fails(1, "tab.tsv", "2", "tab", train=[self.write("tab.tsv", "a\tb\nab\n")])
        self.fails(1, "bytes.tsv", "2", "UTF-8", train=[self.write("bytes.tsv", b"a\tb\n\xff\tb\n")])
        self.fails(1, "3", "2", train=[self.write("a.src", "a\nb\nc\n"), self.write("a.tgt", "a\nb\n")])

    def test_files_of_others_are_not_overwritten(self):
        (self.folder / "model").mkdir()
        mine = self.write("model/config.json", '{"mine": 1}')
        self.fails(2, "config.json", train=[self.tsv()])
        self.assertEqual(mine.read_text(), '{"mine": 1}')

    def test_a_pipe_is_no_corpus(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.fails(1, "pipe", "regular file", train=[pipe])

    def test_files_of_options(self):
        for text, fragment in (('lr = "x', "quote"), ("[train]\n", "sections"), ("seed = 1\nseed = 2\n", "twice"),
                               ("train = [1\n", "bracket")):
            self.fails(2, fragment, train=[self.tsv()], extra=["--config", self.write("run.toml", text)])

    def test_options(self):
        data = [self.tsv()]
        self.fails(2, "d_model", "heads", train=data, extra=["--d-model", 33])
        self.fails(2, "--d-model", train=data, extra=["--d-model", "big"])
        self.fails(2, "--no-such-option", train=data, extra=["--no-such-option"])
        self.fails(2, "metric", train=data, extra=["--metric", "nonsense"])

    def test_a_loss_that_is_not_finite_stops_with_the_name_of_the_operation(self):
        done = rapt("train", "--model", self.folder / "nan", "--train", self.tsv(), *TINY, "--steps", 200, "--lr", 1e3,
                    "--clip-norm", 0, "--norm-eps", 0)
        if done.returncode != 0:  # it may survive; when it does not, it must say why
            self.assertEqual(done.returncode, 1)
            self.assertIn("finite", done.stderr)

    def test_damaged_models(self):
        import shutil
        for name, damage, fragments in (
                ("no-config", lambda m: (m / "config.json").unlink(), ["config.json"]),
                ("no-weights", lambda m: (m / "model.safetensors").unlink(), ["model.safetensors"]),
                ("short", lambda m: (m / "model.safetensors").write_bytes((m / "model.safetensors").read_bytes()[:-10]), ["model.safetensors"]),
                ("version", lambda m: (m / "config.json").write_text((m / "config.json").read_text().replace('"format_version": 2', '"format_version": 99')), ["99"]),
                ("no-vocabulary", lambda m: (m / "source_vocabulary.json").unlink(), ["source_vocabulary.json"])):
            copy = self.folder / name
            shutil.copytree(self.model(), copy)
            damage(copy)
            self.assert_fails(1, *fragments, arguments=["decode", "--model", copy], stdin="cab\n")
        self.assert_fails(1, "nowhere", arguments=["info", self.folder / "nowhere"])

    def test_commands(self):
        self.assert_fails(2, "paint", arguments=["paint"])
        self.assertEqual(rapt().returncode, 2)
        self.assertEqual(rapt("--help").returncode, 0)
        for command in ("train", "decode", "score", "eval", "average", "explain", "info", "check"):
            done = self.run_ok(command, "--help")
            self.assertIn("Example:", done.stdout)
        self.assert_fails(1, "stdin:2", "UTF-8", arguments=["decode", "--model", self.model()], stdin=b"cab\n\xff\n")


class Eval(ProgramTest):
    def test_figures_and_json(self):
        out = self.write("out.txt", "a b c\nx y\n")
        ref = self.write("ref.txt", "a b d\tq q q\nx y\n")
        done = self.run_ok("eval", "--metric", "wer,per,accuracy", "--hypothesis", out, "--reference", ref, "--json")
        data = json.loads(done.stdout)
        self.assertEqual(data["wer"]["value"], 50)
        self.assertEqual(data["accuracy"]["value"], 50)
        self.assertEqual(data["per"]["value"], 20)
        short = self.write("short.txt", "a\n")
        self.assert_fails(1, "1 lines", "2", arguments=["eval", "--metric", "wer", "--hypothesis", short, "--reference", ref])


if __name__ == "__main__":
    unittest.main()
