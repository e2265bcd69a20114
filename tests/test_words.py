"""Doc lines, comments, sentences for readers and commit subjects keep to plain English, as `words.py` has its rules."""

import re
import subprocess

import pytest
import typer
from oracles import ROOT, SAMPLES
from words import (
    FOR_READERS,
    NAMES,
    RETIRED,
    TELLING,
    WHAT,
    WRITTEN,
    Text,
    faults,
    page,
    parts,
    retired,
    strings,
    texts,
    tracked,
)

import bdpcap
from bdpcap.cli import application
from bdpcap.report import ranking

MOST_SHARE = 0.01
"""Of doc lines with `what`, and of those with a word of telling; quinn and smoltcp have 0.3 and 0.1 %."""
COMMITS = 20
SUBJECT = re.compile(r"[a-z][\w./, -]*: [a-z].*[^.]")
MOST_CHARACTERS = 60

FILES = [path for path in tracked(*WRITTEN) if path.suffix in (".py", ".pyi", ".rs")]
SPEAKING = tracked("bdpcap/*.py")
"""Modules whose strings may be sentences for readers: rules, findings, causes, reports, flaws, tables, and help."""
PAGES = [
    path
    for path in tracked("README.md", "docs/*.md", "bdpcap/*.j2", "bdpcap/report/report.schema.json")
    # Licences are their authors' words.
    if path.name != "licences.md"
]
DOCUMENTS = [path for path in PAGES if path.suffix == ".md"]
HELP = typer.main.get_command(application())


def read(words, *, doc=True, of=RETIRED):
    return list(faults(Text(ROOT, 1, words, doc=doc), of))


def test_the_rules_find_what_they_are_for():
    assert read("Return the window in bytes. It is null if no ACK came.") == []
    assert "at hand" in read("Return the window at hand.")[0]
    assert "leans" in read("Of these, those that were acknowledged.")[0]
    assert "26 words" in read(" ".join(["word"] * 26) + ".")[0]
    assert read(" ".join(["word"] * 25) + ". " + " ".join(["word"] * 25) + ".") == []
    assert read("`at hand` is code.") == []
    assert read("A stand-in and udp-beside are other words.", of=FOR_READERS) == []
    assert "told" in read("The losses are told.", of=FOR_READERS)[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_short_and_of_standard_words(path):
    assert [f"{text.line}: {fault}" for text in texts(path) for fault in faults(text)] == []
    content = path.read_text(encoding="utf-8")
    assert [name for name in NAMES if re.search(rf"\b{name}\b", content)] == []


def test_strings_of_a_module_are_read_whole():
    tree = 'A = f"Of {b} " "at hand."\nB = "a " + "name"\n"""No string."""\nC("Is \'a b\' so?")\nD = "<b>x y z</b>"\n'
    assert [text.words for text in strings(ROOT, tree)] == ["Of X at hand.", "Is X so?"]


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_for_readers_are_short_and_of_standard_words(path):
    content = path.read_text(encoding="utf-8")
    assert [
        f"{text.line}: {fault}" for text in strings(path, content) for fault in faults(text, FOR_READERS)
    ] == []


def test_a_page_is_read_without_its_code(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        '| `tap` | [it\nstands](told.md) |\n```\ntold\n```\n<p class="told">{{ x|told }} of its\nown {# tap #}',
        encoding="utf-8",
    )
    assert [fault.split(":")[0] for fault in retired(page(path).words, FOR_READERS)] == [
        "'of its own'",
        "'stands'",
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_of_standard_words(path):
    assert list(retired(page(path).words, FOR_READERS)) == []


def test_cells_and_items_of_a_page_are_texts(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "# Title\n\nIt has\n**two** [links](a.md):\n\n- one\n  more\n1. two `a b`\n```console\ncode\n```\n"
        "| a | b |\n\nIt goes:\non. So\n\n[A](a) · [B](b)<br>C",
        encoding="utf-8",
    )
    assert [sentence for part in parts(page(path)) for sentence in part.sentences()] == [
        *("It has two [links]:", "one more", "two X", "a", "b", "It goes: on.", "So", "[A]", "[B]", "C")
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_of_documents_are_short(path):
    assert [fault for part in parts(page(path)) for fault in faults(part, ())] == []


@pytest.mark.parametrize("command", [HELP, *HELP.commands.values()], ids=lambda command: command.name)
def test_sentences_of_help_are_short_and_of_standard_words(command):
    said = [command.help, command.epilog, *(getattr(one, "help", None) for one in command.params)]
    assert [fault for words in said if words for fault in read(words, doc=False, of=FOR_READERS)] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_findings_are_short_and_of_standard_words(sample):
    capture = bdpcap.analyze(sample)
    said = [flaw.sentence for flaw in capture.quality]
    for flow in ranking.listed(capture, capture.flows):
        for one in flow.findings:
            said += [one.sentence, one.cause, one.remedy]
    assert said
    assert [fault for words in said for fault in read(words, doc=False, of=FOR_READERS)] == []


@pytest.mark.parametrize("pattern", [WHAT, TELLING], ids=["what", "told"])
def test_doc_lines_name_their_subject(pattern):
    lines = [
        f"{path.relative_to(ROOT)}:{text.line}: {line.strip()}"
        for path in FILES
        for text in texts(path)
        if text.doc
        for line in text.words.splitlines()
        if line.strip()
    ]
    found = [line for line in lines if pattern.search(line.partition(": ")[2])]
    assert len(lines) > 3000
    assert len(found) <= MOST_SHARE * len(lines), "\n".join(found)


def test_commit_subjects_are_short_and_imperative():
    log = ["git", "log", f"-{COMMITS}", "--no-merges", "--format=%s"]
    done = subprocess.run(log, cwd=ROOT, capture_output=True, check=False, text=True)
    if done.returncode:
        pytest.skip("no clone: a tree without git")
    subjects = done.stdout.splitlines()
    assert subjects
    assert [line for line in subjects if len(line) > MOST_CHARACTERS or not SUBJECT.fullmatch(line)] == []
