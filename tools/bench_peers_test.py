"""bench_peers: what it makes of the lines of both programs, and what it keeps of a run that was interrupted."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PATH = pathlib.Path(__file__).with_name("bench_peers")
LOADER = importlib.machinery.SourceFileLoader("bench_peers", str(PATH))
bench_peers = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_peers", LOADER))
LOADER.exec_module(bench_peers)
import marian_train  # noqa: E402, from tools/peers
import page  # noqa: E402
from results import Results, compare  # noqa: E402


def line(peer, case, ms, threads=1, **more):
    return {"peer": peer, "case": case, "threads": threads, "ms": ms, "shape": {"T": 32}, **more}


def results_of(*lines):
    results = Results()
    for one in lines:
        results.add(one, "Work")
    results.add_backward()
    return results


class Ratios(unittest.TestCase):
    def ratios(self, *lines):
        return {(ours["case"], theirs["case"]): compare(ours, theirs)[0]
                for _, _, ours, theirs in results_of(*lines).pairs("Work", 1)}

    def test_the_best_turn_of_each_counts(self):
        lines = [line("rapt", "x", 4.0), line("torch", "x", 9.0), line("rapt", "x", 2.0), line("torch", "x", 6.0)]
        self.assertEqual(self.ratios(*lines), {("x", "x"): 3.0})

    def test_with_one_thread_the_time_of_the_processor_counts(self):
        lines = [line("rapt", "x", 4.0, cpu_ms=2.0), line("torch", "x", 9.0, cpu_ms=8.0)]
        self.assertEqual(self.ratios(*lines), {("x", "x"): 4.0})

    def test_shapes_and_threads_are_kept_apart(self):
        other = line("torch", "x", 9.0) | {"shape": {"T": 64}}
        self.assertEqual(self.ratios(line("rapt", "x", 4.0), other), {})
        self.assertEqual(self.ratios(line("rapt", "x", 4.0), line("torch", "x", 9.0, threads=2)), {})

    def test_backward_is_both_less_forward(self):
        lines = [line(peer, case, ms) for peer, forward, both in (("rapt", 1.0, 3.0), ("torch", 2.0, 8.0))
                 for case, ms in (("x_forward", forward), ("x_forward_backward", both))]
        self.assertEqual(self.ratios(*lines)["x_backward", "x_backward"], 3.0)

    def test_backward_has_its_own_share_of_the_peak(self):
        # 10 GFLOP in 100 ms forward; both do 35 in 200 ms, so backward does 25 in 100: half of a peak of 500.
        lines = [line("rapt", "x_forward", 100.0, gflops=100.0, peak_percent=20.0),
                 line("rapt", "x_forward_backward", 200.0, gflops=175.0, peak_percent=35.0)]
        backward = results_of(*lines).best("rapt", "x_backward")
        self.assertAlmostEqual(backward["gflops"], 250.0)
        self.assertAlmostEqual(backward["peak_percent"], 50.0)

    def test_packed_products_are_compared_with_both_layouts(self):
        name = "_float32_8x512x512"
        lines = [line("rapt", "gemm_packed" + name, 2.0), line("torch", "gemm_nn" + name, 3.0),
                 line("torch", "gemm_nt" + name, 4.0)]
        self.assertEqual(sorted(self.ratios(*lines).values()), [1.5, 2.0])

    def test_marian_is_compared_by_tokens_a_second(self):
        lines = [line("rapt", "train_tiny", 500.0, tokens_per_s=8000.0),
                 line("marian", "train_tiny", 100.0, tokens_per_s=2000.0)]
        self.assertEqual(self.ratios(*lines), {("train_tiny", "train_tiny"): 4.0})


class Page(unittest.TestCase):
    def row(self, start, *lines):
        rows = [row for row in page.summary(results_of(*lines)) if row.startswith("| " + start)]
        self.assertEqual(len(rows), 1, rows)
        return [cell.strip() for cell in rows[0].split("|")[2:-1]]

    def test_a_row_says_who_was_faster_and_memory_is_a_share(self):
        results = results_of(line("rapt", "x", 2.0, peak_rss_mb=10.0), line("torch", "x", 5.0, peak_rss_mb=40.0))
        self.assertEqual(page.table(results, "Work", 1)[2:],
                         ["| x T=32 | 2 ms | torch 5 ms | 2.50 |", "| x T=32 peak_rss_mb | 10 | torch 40 | 0.25 of it |"])

    def test_short_sentences_show_the_worst_and_what_is_missing_a_dash(self):
        lines = [line(peer, "attention_dense_forward", ms, peak_percent=50.0) | {"shape": {"T": t, "D": 64}}
                 for t, ours, theirs in ((32, 1.0, 3.0), (64, 1.0, 2.0), (512, 4.0, 6.0))
                 for peer, ms in (("rapt", ours), ("torch", theirs))]
        self.assertEqual(self.row("attention forward, dense", *lines),
                         ["2.00 / 1.50 / –", "1 ms / 4 ms / –", "2 ms / 6 ms / –"])

    def test_products_are_averaged_over_large_shapes(self):
        lines = [line(peer, f"gemm_nn_float32_{shape}", ms)
                 for shape, ours, theirs in (("512x512x512", 1.0, 1.0), ("2048x512x512", 1.0, 4.0), ("8x512x512", 1.0, 9.0))
                 for peer, ms in (("rapt", ours), ("torch", theirs))]
        self.assertEqual(self.row("matrix product", *lines)[0], "2.00 / – / –")
        self.assertEqual(self.row("the worst of those", *lines)[0], "1.00 / – / –")

    def test_products_with_packed_weights_are_told_by_rows(self):
        name = "_float32_8x512x512"
        lines = [line("rapt", "gemm_packed" + name, 2.0), line("torch", "gemm_nn" + name, 3.0),
                 line("torch", "gemm_nt" + name, 4.0)]
        self.assertEqual(self.row("prepacked weights", *lines)[0], "– / 2.00 / –")
        self.assertEqual(self.row("the same against NN", *lines)[0], "– / 1.50 / –")

    def test_what_rapt_alone_measures(self):
        shape = "_float32_512x2048x512"
        self.assertEqual(self.row("GELU", line("rapt", "gemm_packed" + shape, 100.0),
                                  line("rapt", "gemm_packed_gelu" + shape, 104.0))[0], "4.0 %")
        attention = [line("rapt", "attention_dense_forward", ms, threads, peak_percent=percent) |
                     {"shape": {"T": t, "D": 64}}
                     for t, threads, ms, percent in ((512, 1, 9.0, 75.0), (2048, 1, 9.0, 70.0), (512, 2, 5.0, 60.0))]
        self.assertEqual(self.row("attention in %", *attention)[0], "70 % / –")
        self.assertEqual(self.row("gain of the second thread", *attention)[0], "1.80 / –")
        memory = line("rapt", "attention_memory", 1.0, results_mb=16.0, extra_mb=0.7) | {"shape": {"T": 8192}}
        self.assertEqual(self.row("attention memory", memory)[:2], ["0.7 MB / –", "results 16 MB / –"])

    def test_start_and_memory(self):
        lines = [line("rapt", "startup_decode_one_word", 20.0), line("torch", "import", 1000.0) | {"shape": {}}]
        self.assertEqual(self.row("one word", *lines)[0], "50.00")
        lines = [line(peer, "train_base", 1.0, 2, peak_rss_mb=mb) for peer, mb in (("rapt", 2.0), ("torch", 5.0))]
        self.assertEqual(self.row("peak memory", *lines), ["– / 0.40", "– / 2 MB", "– / 5 MB"])

    def test_every_row_can_be_filled(self):
        """A line of every peer for each case that a row asks for gives a table without a gap."""
        class Asked(Results):
            def best(self, peer, case, threads=1, **dims):
                return line(peer, case, 2.0, threads, peak_rss_mb=1.0, rss_mb=1.0, results_mb=1.0, extra_mb=1.0,
                            tokens_per_s=1.0)

            def cases(self, start, threads=1):
                return [start + shape for shape in ("1x512x512", "8x512x512", "64x512x512", "512x512x512")]
        results = Asked()
        for way in ("forward", "backward"):
            results.add(line("rapt", "attention_dense_" + way, 1.0, peak_percent=80.0) | {"shape": {"T": 512}})
        rows = page.summary(results)
        self.assertEqual(len(rows) - 2, len(page.SUMMARY))
        self.assertNotIn("–", re.sub(r"\d–\d", "", "".join(rows)))

    def test_the_page_names_versions_command_machine_and_failures(self):
        results = results_of(line("rapt", "x", 2.0), line("torch", "x", 5.0),
                             {"peer": "machine", "threads": 1, "gflops": 90.0, "gb_per_s": 9.0, "cpu": "C", "simd": "avx2"},
                             {"peer": "machine", "threads": 1, "gflops": 95.0, "gb_per_s": 8.0, "cpu": "C", "simd": "avx2"})
        text = page.page(results, {"torch": "2", "rapt": "1"}, "tools/bench_peers --quick", ["Marian: no wheel"])
        for part in ("* Command: `tools/bench_peers --quick`", "* CPU: C, avx2", "with 1 thread: 95 GFLOP/s",
                     "written: 9 GB/s", "* rapt 1, torch 2", "* Not measured: Marian: no wheel", "## Work, 1 thread"):
            self.assertIn(part, text)


class Marian(unittest.TestCase):
    def test_updates_are_read_from_its_log(self):
        log = ("[x] Ep. 1 : Up. 1 : Sen. 256 : Cost 9.62 : Time 2.50s : 1600.00 words/s : L.r. 1.0e-04\n"
               "[x] Ep. 1 : Up. 2 : Sen. 512 : Cost 9.50 : Time 2.00s : 2000.00 words/s : L.r. 1.0e-04\n")
        self.assertEqual(marian_train.updates_of(log), [(9.62, 2.5, 4000.0), (9.5, 2.0, 4000.0)])


class Interrupted(unittest.TestCase):
    """A program that stands for rapt and one for its peers; the second fails until a file is there."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.program("rapt", "if '--version' in sys.argv: print('rapt 9'); sys.exit()\n"
                     "print(json.dumps({'peer': 'rapt', 'case': 'encoder_nested', 'threads': 1, 'ms': 2.0}))")
        self.program("python", "if '-c' in sys.argv: print(json.dumps({'torch': '1'})); sys.exit()\n"
                     "if not here.joinpath('ready').exists(): sys.exit('no torch')\n"
                     "print(json.dumps({'peer': 'torch', 'case': 'encoder_nested', 'threads': 1, 'ms': 6.0}))")

    def program(self, name, body):
        path = self.folder / name
        head = (f"#!{sys.executable}\nimport json, pathlib, sys\nhere = pathlib.Path(__file__).parent\n"
                f"here.joinpath('calls').open('a').write({name!r} + '\\n')\n")
        path.write_text(head + body)
        path.chmod(0o755)

    def compare(self, *more, code=0):
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, PATH, "--rapt", self.folder / "rapt", "--python", self.folder / "python",
                               "--without-marian", "--only", "encode", "--threads", "1", "--quick", "--results",
                               self.folder / "kept.jsonl", "--out", self.folder / "page.md", *more],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.folder.joinpath("page.md").read_text(), calls.read_text() if calls.exists() else ""

    def test_what_failed_is_named_and_only_that_is_run_again(self):
        text, _ = self.compare(code=1)
        self.assertIn("Not measured: torch_encode.py of Encoder alone, base, 1 thread: no torch", text)
        self.folder.joinpath("ready").touch()
        text, calls = self.compare("--resume")
        self.assertNotIn("Not measured", text)
        self.assertIn("3.00", text)
        self.assertEqual(calls.split(), ["python", "rapt", "python"])  # the versions of both, then the one that failed

    def test_a_line_that_was_cut_is_measured_again(self):
        self.folder.joinpath("ready").touch()
        self.compare()
        kept = self.folder / "kept.jsonl"
        kept.write_text(kept.read_text()[:-20])
        for programs in (["python", "rapt", "rapt"], ["python", "rapt"]):  # the versions of both, then what is missing
            text, calls = self.compare("--resume")
            self.assertEqual(calls.split(), programs)
            self.assertIn("3.00", text)

    def test_the_page_alone_runs_nothing(self):
        self.folder.joinpath("ready").touch()
        first, _ = self.compare()
        again, calls = self.compare("--page")
        self.assertEqual((first, calls), (again, ""))

    def test_another_build_is_not_mixed_in(self):
        self.folder.joinpath("ready").touch()
        self.compare()
        with self.folder.joinpath("rapt").open("a") as program:
            program.write("\n# another build\n")
        self.compare("--resume", code=1)


if __name__ == "__main__":
    unittest.main()
