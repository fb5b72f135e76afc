#!/usr/bin/env python3
"""Festival's pronouncing dictionary to spelling<TAB>phones, split into train, dev and test.

An entry of the dictionary has a word, a part of speech, and syllables with their stress:

    ("abstracts" v (((ax b) 0) ((s t r ae k t s) 1)))    ->    abstracts<TAB>ax b s t r ae k t s

Words become lower-case; stress and syllables are dropped. A word's split is decided by a hash of the
word, so all its pronunciations stay on one side: 5 % dev, 5 % test, the rest train.

Usage: convert.py DICTIONARY FOLDER

Writes, in the order of the dictionary:
    train.tsv, dev.tsv, test.tsv     spelling<TAB>phones, one line a pronunciation
    dev.words, test.words            each word once
    dev.refs, test.refs              line i: all pronunciations of word i, separated by tabs
"""

import hashlib
import os
import re
import sys
from pathlib import Path

ENTRY = re.compile(r'\("([^"]*)" (\S+) \(((?:\(\([a-z ]+\) \d\) ?)+)\)\)')
SYLLABLE = re.compile(r"\(([a-z ]+)\) \d")
SPELLING = re.compile(r"[a-z']*[a-z][a-z']*")
HEADER = "MNCL"  # the first line of a compiled lexicon
PERCENT = {"dev": 5, "test": 5}


def parse(line):
    """(word, phones) of an entry; None if the line is none, or its spelling is not letters."""
    match = ENTRY.fullmatch(line.strip())
    if match is None:
        return None
    word, _, syllables = match.groups()
    word = word.lower()
    if not SPELLING.fullmatch(word):
        return None
    return word, " ".join(" ".join(SYLLABLE.findall(syllables)).split())


def split_of(word):
    """train, dev or test: a function of the word alone."""
    digest = hashlib.sha256(word.encode("utf-8")).digest()
    place = int.from_bytes(digest[:8], "big") % 100
    for split, percent in PERCENT.items():
        if place < percent:
            return split
        place -= percent
    return "train"


def read(lines):
    """({word: its distinct pronunciations}, lines skipped, repeated pronunciations)"""
    words, skipped, repeated = {}, [], 0
    for number, line in enumerate(lines, 1):
        entry = parse(line)
        if entry is not None:
            pronunciations = words.setdefault(entry[0], [])
            if entry[1] in pronunciations:
                repeated += 1
            else:
                pronunciations.append(entry[1])
        elif line.strip() not in ("", HEADER):
            skipped.append((number, line.strip()))
    return words, skipped, repeated


def write(path, lines):
    """Replaces the file whole, so that a stopped run leaves no half of one."""
    staged = path.with_name(path.name + ".part")
    staged.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.replace(staged, path)


def convert(dictionary, folder):
    with open(dictionary, encoding="utf-8") as file:
        words, skipped, repeated = read(file)
    if not words:
        sys.exit(f"convert: {dictionary}: no entries; expected lines like "
                 '("abacus" nil (((ae b) 1) ((ax k) 0) ((ax s) 0)))')
    folder.mkdir(parents=True, exist_ok=True)
    for number, line in skipped[:3]:
        print(f"convert: {dictionary}:{number}: skipped: {line}", file=sys.stderr)
    print(f"{len(words)} words, {sum(map(len, words.values()))} pronunciations "
          f"({repeated} repeated in the dictionary, {len(skipped)} lines skipped)")
    for split in ("train", *PERCENT):
        part = {word: all_of for word, all_of in words.items() if split_of(word) == split}
        pairs = [f"{word}\t{phones}" for word, all_of in part.items() for phones in all_of]
        write(folder / f"{split}.tsv", pairs)
        if split in PERCENT:
            write(folder / f"{split}.words", part)
            write(folder / f"{split}.refs", map("\t".join, part.values()))
        print(f"  {split}: {len(part)} words, {len(pairs)} pronunciations")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: convert.py DICTIONARY FOLDER")
    try:
        convert(sys.argv[1], Path(sys.argv[2]))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"convert: {sys.argv[1]}: {error}")
