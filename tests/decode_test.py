"""decode, score, explain, info, check: formats, order, pipes."""

import json
import pathlib
import select
import shutil
import subprocess
import time
import unittest

from program import PAIRS, RAPT, ProgramTest, rapt

LINES = "".join(source + "\n" for source, _ in PAIRS)
TARGETS = [target for _, target in PAIRS]


class Decode(ProgramTest):
    def test_learnt_pairs_come_back_in_order(self):
        for options in ([], ["--beam", 4], ["--beam", 4, "--threads", 2, "--batch-tokens", 7]):
            done = self.run_ok("decode", "--model", self.model(), *options, stdin=LINES)
            self.assertEqual(done.stdout.splitlines(), TARGETS)

    def test_an_empty_line_gives_an_empty_line_and_the_last_newline_may_be_missing(self):
        done = self.run_ok("decode", "--model", self.model(), stdin="cab\n\nebb")
        self.assertEqual(done.stdout, "b a c\n\nb b e\n")

    def test_nbest_writes_line_rank_score_log_probability_and_text(self):
        done = self.run_ok("decode", "--model", self.model(), "--beam", 3, "--nbest", 2, stdin="cab\nice\n")
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([row[:2] for row in rows], [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]])
        self.assertEqual([rows[0][4], rows[2][4]], ["b a c", "e c i"])
        for row in rows:
            length = len(row[4].split()) + 1  # </s> included, penalty 1
            self.assertAlmostEqual(float(row[3]) / length, float(row[2]), places=9)
        self.assertGreaterEqual(float(rows[0][2]), float(rows[1][2]))

    def test_score_prints_the_number_that_decode_found(self):
        table = self.run_ok("decode", "--model", self.model(), "--beam", 2, "--nbest", 2, stdin="deaf\n").stdout
        rows = [line.split("\t") for line in table.splitlines()]
        pairs = "".join(f"deaf\t{row[4]}\n" for row in rows)
        scores = [line.split("\t") for line in self.run_ok("score", "--model", self.model(), stdin=pairs).stdout.splitlines()]
        self.assertEqual([row[3] for row in rows], [score[0] for score in scores])
        self.assertEqual([str(len(row[4].split()) + 1) for row in rows], [score[1] for score in scores])

    def test_json_is_one_object_a_line(self):
        done = self.run_ok("decode", "--model", self.model(), "--json", stdin="cab\n\n")
        first, second = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first["hypotheses"][0]["text"], "b a c")
        self.assertEqual(first["hypotheses"][0]["tokens"], ["b", "a", "c"])
        self.assertEqual((first["line"], second["line"], second["hypotheses"]), (1, 2, []))

    def test_a_line_is_answered_before_the_next_is_written(self):
        for command, question in (("decode", "cab\n"), ("score", "cab\tb a c\n")):
            process = subprocess.Popen([RAPT, command, "--model", str(self.model())], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True, bufsize=1)
            for _ in range(3):
                process.stdin.write(question)
                process.stdin.flush()
                self.assertTrue(select.select([process.stdout], [], [], 60)[0], f"{command} does not answer")
                self.assertTrue(process.stdout.readline())
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
            process.stdout.close()

    def test_waiting_for_a_line_takes_no_time_of_the_processor(self):
        process = subprocess.Popen([RAPT, "decode", "--model", str(self.model()), "--threads", "2"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

        def ticks():  # of user and system, 10 ms each
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        process.stdin.write("cab\n")
        process.stdout.readline()
        time.sleep(0.1)
        before = ticks()
        time.sleep(0.5)
        self.assertLessEqual(ticks() - before, 1)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        process.stdout.close()

    def test_a_closed_stdout_ends_it_quietly(self):
        many = "cab\n" * 20000
        process = subprocess.Popen([RAPT, "decode", "--model", str(self.model())], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        try:
            process.stdin.write(many)
            process.stdin.close()
        except BrokenPipeError:
            pass
        self.assertEqual(process.wait(120), 141)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()

    def test_unknown_symbols_are_counted_and_named_once(self):
        done = self.run_ok("decode", "--model", self.model(), stdin="cab\ncäb\nß\nzzz\n")
        self.assertEqual(len(done.stdout.splitlines()), 4)
        for part in ("U+00E4", "U+00DF", "U+007A", "line 2", "line 3", "line 4"):
            self.assertIn(part, done.stderr)
        self.assertNotIn("<unk>", done.stdout)
        self.assertEqual(rapt("decode", "--model", self.model(), "--strict", stdin="ß\n").returncode, 1)

    def test_output_at_the_limit_is_reported(self):
        done = self.run_ok("decode", "--model", self.model(), "--max-length", 2, stdin="ice\nabcde\n")
        self.assertEqual([len(line.split()) for line in done.stdout.splitlines()], [2, 2])
        self.assertIn("maximum length", done.stderr)
        self.assertIn("lines 1, 2", done.stderr)

    def test_prefix_and_lengths_are_obeyed(self):
        done = self.run_ok("decode", "--model", self.model(), "--prefix", "e d", stdin="cab\n")
        self.assertTrue(done.stdout.startswith("e d"))
        done = self.run_ok("decode", "--model", self.model(), "--min-length", 6, stdin="cab\n")
        self.assertGreaterEqual(len(done.stdout.split()), 6)

    def test_samples_follow_the_seed(self):
        def sample(seed):
            return self.run_ok("decode", "--model", self.model(), "--sample", "--temperature", 4, "--seed", seed,
                               stdin="zz\n" * 4).stdout
        self.assertEqual(sample(1), sample(1))
        self.assertNotEqual(sample(1), sample(2))
        self.assertGreater(len(set(sample(1).splitlines())), 1)

    def test_lines_before_a_bad_one_are_answered(self):
        done = rapt("decode", "--model", self.model(), stdin=b"cab\n\xff\nebb\n")
        self.assertEqual((done.returncode, done.stdout), (1, b"b a c\n"))
        self.assertIn(b"stdin:2", done.stderr)
        done = rapt("score", "--model", self.model(), stdin="cab\tb a c\nno tab\n")
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (1, 1))

    def test_options_that_would_do_nothing_are_refused(self):
        for options in (["--temperature", 0.5], ["--top-k", 3], ["--prompt", "x"], ["--prefix", "nonsense"]):
            self.assert_fails(2, options[0], arguments=["decode", "--model", self.model(), *options])

    def test_weights_that_are_not_finite_are_refused_by_name(self):
        copy = self.folder / "nan"
        shutil.copytree(self.model(), copy)
        data = bytearray((copy / "model.safetensors").read_bytes())
        data[-4:] = b"\x00\x00\xc0\x7f"  # the last number becomes NaN
        (copy / "model.safetensors").write_bytes(data)
        self.assert_fails(1, "model.safetensors", "NaN", arguments=["decode", "--model", copy], stdin="cab\n")

    def test_too_long_lines(self):
        line = "a" * 3000
        done = rapt("decode", "--model", self.model(), stdin=f"cab\n{line}\nebb\n")
        self.assertEqual((done.returncode, done.stdout), (1, "b a c\n\nb b e\n"))
        self.assertIn("line 2", done.stderr)
        done = self.run_ok("decode", "--model", self.model(), "--too-long", "truncate", "--max-length", 3, stdin=f"{line}\n")
        self.assertTrue(done.stdout.strip())
        self.assertIn("line 1", done.stderr)
        self.assertEqual(rapt("decode", "--model", self.model(), "--too-long", "stop", stdin=f"{line}\n").returncode, 1)


class LookInside(ProgramTest):
    def test_explain_writes_every_format(self):
        arguments = ["explain", "--model", self.model(), "--input", "cab"]
        self.assertIn("cab"[0], self.run_ok(*arguments).stdout)
        for name in ("a.svg", "a.html", "a.json"):
            path = self.folder / name
            self.run_ok(*arguments, "--out", path)
            self.assertGreater(path.stat().st_size, 500)
        data = json.loads((self.folder / "a.json").read_text())
        self.assertTrue(data)

    def test_info_counts_parameters(self):
        data = json.loads(self.run_ok("info", self.model(), "--json", "--tensors").stdout)
        total = 0
        for tensor in data["tensors"]:
            size = 1
            for n in tensor["shape"]:
                size *= n
            total += size
        self.assertEqual(data["parameters"], total)
        self.assertIn("d_model", self.run_ok("info", self.model()).stdout)

    def test_check_finds_the_same_bits(self):
        pairs = self.tsv()
        for options in ([], ["--input", pairs], ["--threads", 2]):
            done = self.run_ok("check", self.model(), *options)
            self.assertEqual(done.stdout.count("same bits"), 4)
            self.assertNotIn("DIFFERENT", done.stdout)


if __name__ == "__main__":
    unittest.main()
