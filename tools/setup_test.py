#!/usr/bin/env python3
"""tools/setup on machines of every kind, with apt-get, sudo and the package lists played by stubs."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).parent / "setup"
STUBS = {
    "id": 'echo "$FAKE_UID"',
    "dpkg-query": '[[ " $FAKE_MISSING " == *" ${!#} "* ]] || echo -n installed',
    "apt-cache": 'echo "$FAKE_PACKAGES" | tr " " "\\n" | grep "^$2" || true',
    "apt-get": 'echo "apt-get $*" >> "$FAKE_LOG"; [[ " $* " != *" $FAKE_FAILURE "* ]]',
    "sudo": 'echo "sudo $1" >> "$FAKE_LOG"; [ "$1" != -n ] || shift; exec "$@"',
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"
        for tool in ("bash", "env", "grep", "tr"):
            (self.folder / tool).symlink_to(shutil.which(tool))
        for name, script in STUBS.items():
            stub = self.folder / name
            stub.write_text(f"#!{shutil.which('bash')}\n{script}\n")
            stub.chmod(0o755)

    def run_setup(self, *arguments, missing="", failure="none", uid=0,
                  packages="make g++ clang-format-14"):
        """(exit code, stdout, stderr, the calls of apt-get and sudo)"""
        environment = {"PATH": str(self.folder), "FAKE_UID": str(uid), "FAKE_MISSING": missing,
                       "FAKE_PACKAGES": packages, "FAKE_FAILURE": failure,
                       "FAKE_LOG": str(self.log)}
        done = subprocess.run([shutil.which("bash"), str(SETUP), *arguments], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        calls = self.log.read_text().splitlines() if self.log.exists() else []
        return done.returncode, done.stdout, done.stderr, calls

    def test_silent_when_all_is_there(self):
        self.assertEqual(self.run_setup(), (0, "", "", []))

    def test_installs_what_is_missing_after_an_update(self):
        code, _, stderr, calls = self.run_setup(missing="ninja-build libfmt-dev")
        self.assertEqual(code, 0, stderr)
        self.assertEqual(len(calls), 2)
        self.assertTrue(calls[0].endswith(" update"), calls)
        self.assertTrue(calls[1].endswith(
            " install -y --no-install-recommends ninja-build libfmt-dev"), calls)

    def test_offline(self):
        code, _, stderr, calls = self.run_setup(missing="g++", failure="update")
        self.assertEqual(code, 1)
        self.assertIn("online", stderr)
        self.assertIn("g++", stderr)
        self.assertEqual(len(calls), 1)

    def test_a_failed_installation(self):
        code, _, stderr, _ = self.run_setup(missing="g++", failure="install")
        self.assertEqual(code, 1)
        self.assertIn("Missing: g++", stderr)

    def test_a_release_without_the_formatter(self):
        code, _, stderr, calls = self.run_setup(missing="make clang-format-14", packages="make")
        self.assertEqual(code, 0, stderr)
        self.assertIn("format check will be skipped", stderr)
        self.assertTrue(calls[1].endswith(" make"), calls)
        self.log.unlink()
        self.assertEqual(self.run_setup(missing="clang-format-14", packages="make"),
                         (0, "", "", []))

    def test_not_root(self):
        code, _, stderr, calls = self.run_setup(missing="g++", uid=1000)
        self.assertEqual(code, 0, stderr)
        self.assertEqual([call for call in calls if call.startswith("sudo")], ["sudo -n"] * 2)

    def test_neither_root_nor_sudo(self):
        os.remove(self.folder / "sudo")
        code, _, stderr, calls = self.run_setup(missing="g++", uid=1000)
        self.assertEqual((code, calls), (1, []))
        self.assertIn("apt-get install --no-install-recommends g++", stderr)

    def test_not_debian(self):
        os.remove(self.folder / "apt-get")
        code, _, stderr, calls = self.run_setup()
        self.assertEqual((code, calls), (1, []))
        self.assertIn("not a Debian system", stderr)
        self.assertIn("libhwy-dev", stderr)

    def test_arguments(self):
        code, stdout, _, _ = self.run_setup("--list")
        self.assertEqual(code, 0)
        self.assertIn("libhwy-dev", stdout.split())
        self.assertEqual(self.run_setup("--install")[0], 1)


if __name__ == "__main__":
    unittest.main()
