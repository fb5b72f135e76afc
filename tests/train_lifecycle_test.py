#!/usr/bin/env python3
"""The life of a training: what it makes, going on after a stop, a kill, a full disk; what it refuses."""

import hashlib
import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

RAPT = os.environ.get("RAPT", "build/release/rapt")
TINY = [("--d-model", "16"), ("--heads", "2"), ("--d-ff", "32"), ("--layers", "1"),
        ("--batch-tokens", "120"), ("--warmup-steps", "5"), ("--threads", "1")]


def pairs(count, salt=0):
    """Words and the same words backwards."""
    draw = random.Random(salt)
    words = ["".join(draw.choice("abcdef") for _ in range(draw.randint(2, 8))) for _ in range(count)]
    return [(word, word[::-1]) for word in words]


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rapt-train-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.train = self.write_pairs("train.tsv", pairs(100))
        self.valid = self.write_pairs("valid.tsv", pairs(20, 1))
        self.model = self.folder / "model"

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def write_pairs(self, name, items):
        return self.write(name, "".join(f"{a}\t{b}\n" for a, b in items))

    def command(self, *options, model=None):
        defaults = [word for flag, value in TINY if flag not in options
                    for word in (flag, value)]
        return [RAPT, "train", "--model", str(model or self.model), *defaults, *options]

    def run_train(self, *options, code=0, model=None, **kwargs):
        result = subprocess.run(self.command(*options, model=model), capture_output=True,
                                text=True, timeout=300, stdin=subprocess.DEVNULL, **kwargs)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def fails(self, *options, code, says, model=None):
        errors = self.run_train(*options, code=code, model=model)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, errors)
        return errors

    def config(self, model=None):
        return json.loads(((model or self.model) / "config.json").read_text())

    def weights(self, model=None):
        return sha256((model or self.model) / "model.safetensors")

    # ---- What it does

    def test_makes_a_model_directory(self):
        errors = self.run_train("--train", self.train, "--valid", self.valid, "--epochs", "2",
                                "--metric", "wer")
        names = {path.name for path in self.model.iterdir()}
        self.assertEqual(names, {"config.json", "model.safetensors", "source_vocabulary.json",
                                 "target_vocabulary.json", "metrics.jsonl", "checkpoints"})
        self.assertRegex(errors, r"parameters, about .* of memory, \d+ updates an epoch")
        self.assertEqual(errors.count("validation: loss"), 2)
        self.assertEqual(errors.count(" -> "), 6)  # three decoded items each
        self.assertRegex(errors, r"done at step \d+; best wer")
        lines = [json.loads(line) for line in (self.model / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(sum(line["kind"] == "valid" for line in lines), 2)
        self.assertIn("wer", lines[-1])

    def test_decoder_only(self):
        text = self.write("text.txt", "the quick brown fox\njumps over the lazy dog\n" * 40)
        errors = self.run_train("--architecture", "decoder", "--text", text, "--valid", text,
                                "--context", "16", "--steps", "5", "--metric", "loss")
        self.assertEqual(errors.count(" -> "), 3)
        self.assertTrue((self.model / "vocabulary.json").exists())

    def test_memorises_pairs(self):
        options = ["--d-model", "64", "--heads", "4", "--d-ff", "128", "--layers", "1", "--dropout",
                   "0", "--label-smoothing", "0", "--lr", "0.004", "--warmup-steps", "50",
                   "--batch-tokens", "400", "--steps", "500", "--seed", "3"]
        self.run_train("--train", self.train, *options)
        words = [a for a, _ in pairs(100)]
        result = subprocess.run([RAPT, "decode", "--model", self.model], input="\n".join(words) + "\n",
                                capture_output=True, text=True, timeout=300, check=True)
        self.assertEqual(result.stdout.splitlines(), [word[::-1] for word in words])
        last = json.loads((self.model / "metrics.jsonl").read_text().splitlines()[-1])
        self.assertLess(last["loss"], 0.01)

    # ---- Options

    def test_options_that_set_several(self):
        self.run_train("--train", self.train, "--steps", "1", "--dropout", "0.3", "--dropout-residual",
                       "0.2", "--encoder-layers", "2")
        config = self.config()
        self.assertEqual([config[f"dropout_{site}"] for site in
                          ("embedding", "attention", "activation", "residual")], [0.3, 0.3, 0.3, 0.2])
        self.assertEqual((config["encoder_layers"], config["decoder_layers"]), (2, 1))

    def test_options_of_one_side(self):
        upper = self.write_pairs("upper.tsv", [(a.upper(), " ".join(b.upper())) for a, b in pairs(50)])
        self.run_train("--train", upper, "--steps", "1", "--lower", "--no-target-lower",
                       "--target-tokenizer", "words")
        source = json.loads((self.model / "source_vocabulary.json").read_text())
        target = json.loads((self.model / "target_vocabulary.json").read_text())
        self.assertIn("a", source)
        self.assertNotIn("A", source)
        self.assertIn("A", target)
        self.assertNotIn(" ", target)

    def test_joint_vocabulary(self):
        self.run_train("--train", self.train, "--steps", "1", "--vocabulary", "joint", "--tie", "all")
        self.assertTrue((self.model / "vocabulary.json").exists())
        self.fails("--train", self.train, "--tie", "all", model=self.folder / "other", code=2,
                   says="--vocabulary joint")

    # ---- Going on

    def test_goes_on_where_it_stopped(self):
        options = ["--train", self.train, "--valid", self.valid, "--metric", "loss", "--epochs", "60"]
        self.run_train(*options, model=self.folder / "whole")
        for sign, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
            process = subprocess.Popen(self.command(*options), stderr=subprocess.PIPE, text=True)
            for line in process.stderr:
                if "validation: loss" in line:
                    process.send_signal(sign)
                    break
            rest = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, code, rest)
            self.assertIn("stopped and saved at step", rest)
        errors = self.run_train(*options)
        self.assertRegex(errors, r"going on from step \d+")
        self.assertEqual(self.weights(), self.weights(self.folder / "whole"))
        self.assertIn("nothing to do", self.run_train(*options))

    def test_a_kill_costs_no_more_than_the_steps_since_the_last_checkpoint(self):
        options = ["--train", self.train, "--epochs", "40", "--save-every", "3"]
        self.run_train(*options, model=self.folder / "whole")
        process = None
        for delay in (0.3, 0.5, 0.8):
            process = subprocess.Popen(self.command(*options), stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            process.wait()
        self.run_train(*options)
        self.assertEqual(self.weights(), self.weights(self.folder / "whole"))
        self.assertEqual(list(self.model.rglob("*.tmp*")), [])

    def test_refuses_other_options_for_the_same_directory(self):
        self.run_train("--train", self.train, "--steps", "2")
        before = self.weights()
        self.fails("--train", self.train, "--steps", "2", "--lr", "0.5", "--residual", "pre", code=2,
                   says=["lr is 0.5, was 0.001", 'residual is "pre", was "post"'])
        self.assertEqual(self.weights(), before)
        self.run_train("--train", self.train, "--steps", "3", "--log-every", "1")  # pace may change
        shutil.rmtree(self.model / "checkpoints")
        self.fails("--train", self.train, "--steps", "2", code=2, says="without checkpoints")

    def test_one_run_at_a_time(self):
        self.run_train("--train", self.train, "--steps", "1")
        process = subprocess.Popen(self.command("--train", self.train, "--steps", "100000"),
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "going on" in line:
                break
        self.fails("--train", self.train, "--steps", "2", code=1, says="another training is at work")
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_a_damaged_checkpoint_is_named(self):
        self.run_train("--train", self.train, "--steps", "4", "--save-every", "2")
        file = self.model / "checkpoints/step-00000004/optimizer.safetensors"
        file.write_bytes(file.read_bytes()[:-100])
        errors = self.run_train("--train", self.train, "--steps", "4", "--save-every", "2")
        self.assertIn("step-00000004/optimizer.safetensors", errors)
        self.assertIn("going on from step 2", errors)

    def test_a_full_disk_leaves_the_old_checkpoint(self):
        self.run_train("--train", self.train, "--steps", "2")
        before = self.weights()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))

        errors = self.run_train("--train", self.train, "--steps", "4", code=1, preexec_fn=limit)
        self.assertIn("model.safetensors", errors)
        self.assertEqual(self.weights(), before)
        self.assertEqual(os.listdir(self.model / "checkpoints"), ["step-00000002"])
        self.assertIn("going on from step 2", self.run_train("--train", self.train, "--steps", "4"))

    # ---- Data

    def test_counts_what_is_left_out(self):
        data = self.write_pairs("long.tsv", pairs(50) + [("abcdefabcdef", "x"), ("", "x"), ("a", "")])
        errors = self.run_train("--train", data, "--steps", "1", "--max-length", "10")
        self.assertRegex(errors, r"left out 3 of 53 items: 2 empty \(first: line 52\), "
                                 r"1 over 10 tokens \(first: line 51\)")

    def test_unknown_symbols_are_counted_once(self):
        valid = self.write_pairs("valid.tsv", [("abß", "ab"), ("aß", "cd"), ("ab", "ba")])
        errors = self.run_train("--train", self.train, "--valid", valid, "--steps", "1")
        self.assertEqual(errors.count("U+00DF"), 2)  # both in one warning
        self.assertEqual(errors.count("warning"), 1)
        model = self.folder / "strict"
        self.fails("--train", self.train, "--valid", valid, "--steps", "1", "--strict", model=model,
                   code=1, says="U+00DF")
        self.assertFalse(model.exists())

    def test_options_that_contradict(self):
        for options, code, says in [
                (["--train", self.train, "--d-model", "15"], 2, "d_model is 15"),
                (["--train", self.train, "--metric", "rouge", "--valid", self.valid], 2, "rouge"),
                (["--train", self.train, "--metric", "wer"], 2, "give --valid"),
                (["--text", self.train], 2, "--architecture decoder"),
                ([], 2, "--train is missing")]:
            with self.subTest(options=options):
                self.fails(*options, code=code, says=says)
                self.assertFalse(self.model.exists())

    def test_a_loss_that_is_not_finite(self):
        self.fails("--train", self.train, "--lr", "1000", "--warmup-steps", "0", "--steps", "200",
                   "--clip-norm", "0", "--optimizer", "adamw", "--weight-decay", "1000", code=1,
                   says=["is not finite", "first made by", "5 updates in a row"])

    # ---- What is seen

    def test_a_bar_on_a_terminal(self):
        parent, child = pty.openpty()
        process = subprocess.Popen(self.command("--train", self.train, "--steps", "60"), stderr=child)
        os.close(child)
        seen = b""
        while True:
            try:
                chunk = os.read(parent, 4096)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        self.assertEqual(process.wait(), 0)
        os.close(parent)
        self.assertRegex(seen.decode(), r"\repoch \d+ +\d+ % [━─]+ step \d+  loss .* tokens/s  \d+:\d\d left")
        self.assertNotIn("norm", seen.decode())  # lines are for elsewhere

    # ---- Averaging

    def test_average_of_checkpoints(self):
        self.run_train("--train", self.train, "--steps", "6", "--save-every", "2")
        out = self.folder / "average"
        command = [RAPT, "average", "--model", self.model, "--last", "2", "--out", out]
        subprocess.run(command, check=True, capture_output=True)
        self.assertEqual(self.config(out), self.config())
        self.assertNotEqual(self.weights(out), self.weights())
        decoded = subprocess.run([RAPT, "decode", "--model", out], input="abc\n", text=True,
                                 capture_output=True, check=True)
        self.assertEqual(decoded.stdout.count("\n"), 1)
        again = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(again.returncode, 2)
        self.assertIn("exists", again.stderr)
        command[-1] = self.folder / "one"
        command[command.index("2")] = "1"
        subprocess.run(command, check=True, capture_output=True)
        self.assertEqual(self.weights(self.folder / "one"), self.weights())


if __name__ == "__main__":
    unittest.main()
