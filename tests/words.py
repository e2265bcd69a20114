"""Sentences of doc lines and comments, and the rules that they keep; run as a program, it lists what breaks them.

python tests/words.py [PATH ...]
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parent.parent
MOST_WORDS: Final = 25
"""A sentence of more words is read twice."""
FEWEST_SPACES: Final = 2
"""A string with fewer is a name."""
WRITTEN: Final = ("bdpcap/*.py", "bdpcap/*.pyi", "core/src/*.rs")
"""Whose doc lines and comments are held to the rules."""

RETIRED: Final = (
    "company", "echoed ticks", "asleep", "slept", "woke", "unfinished checksum", "strays", "patience", "unheard",
    "hurry", "travelling", "tightness", "promptness", "unprompted", "evenness", "openness", "fullness", "refill",
    "lazy", "eager", "metronomic", "restless", "subdued", "blackout", "repairing", "resent", "judgement", "weigh",
    "weighs", "weighed", "whoever", "at hand", "of its own", "of their own", "held so", "passed over", "as good",
    "likewise",  "beside",
)  # fmt: skip
"""Words for which the glossary has a standard term, or that say less than they seem to."""
FOR_READERS: Final = (*RETIRED, "told", "stands", "stood", "tap", "taps", "vantage")
"""Words that pages and sentences for readers avoid; comments may have the last ones, which are names in the code."""
NAMES: Final = (
    "others_bytes", "echoed_ticks", "asleep_ns", "Witness", "Lowered", "strays", "unheard", "hurry", "floor_ns",
    "tight_ns", "unprompted_bytes", "queue_low_ns", "spacing_rate", "forth_ns", "back_ns",
    "openness", "evenness", "fullness", "tightness", "promptness", "metronomic", "subdued", "blackout", "resent",
    "Judgement", "slept", "rtt_floor_ns", "opened_rate", "burst_level",
)  # fmt: skip
"""Names for which the glossary has a standard one."""
LEANING: Final = re.compile(
    r"^(Of (these|them|those)\b|The same\b|Likewise\b|See above|As (above|before)\b|Most\.|Least\.|Largest\.|Others?\.|"
    r"Fast ones\.|Median\.|Payload\.|Also\b)"
)
"""Beginnings of doc lines that are understood only together with the line above."""
WHAT: Final = re.compile(r"\bwhat(ever)?\b", re.IGNORECASE)
TELLING: Final = re.compile(r"\b(told|tells?|says?|said)\b", re.IGNORECASE)

_RUST: Final = re.compile(r"^\s*(///|//!|//)(?!/) ?(.*)$")
_CODE: Final = re.compile(r"``[^`]*``|`[^`]*`|https?://\S+|\[[^\]]*\]\([^)]*\)")
_MARKUP: Final = re.compile(
    r"^ *```.*?^ *```$|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|``[^`]*``|`[^`]*`|https?://\S+|\"\w+\"",
    re.MULTILINE | re.DOTALL,
)
"""Blocks of code, comments and expressions of templates, code, addresses, and names of classes and keys."""
_TARGET: Final = re.compile(r"\]\([^)]*\)")
_PART: Final = re.compile(
    r"\n\s*\n|^#.*$|^:::.*$|^\s*(?:[-*+>]|\d+\.)\s|(?<!\\)\||<br>| · ",
    re.MULTILINE,
)
"""Separators of a document's texts: blank lines, headings, markers of items, sides of cells, and dots between links."""
_QUOTED: Final = re.compile(r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"")
_BREAK: Final = re.compile(r"(?<=[.!?;])(?=\s+\S)|\n\s*\n|\n(?=\s*[-*|] )|(?<=:)\n")


@dataclass(frozen=True)
class Text:
    """A docstring, a doc comment or a comment."""

    path: Path
    line: int
    words: str
    doc: bool

    def sentences(self) -> Iterator[str]:
        """Yield its sentences; code, tables and headings of sections are none."""
        prose = _CODE.sub("X", self.words)
        for part in _BREAK.split(prose):
            sentence = " ".join(part.split()) if part else ""
            if sentence and not sentence.startswith(
                ("|", "==", ">>>", "#", "-----", "noqa", "type:", "fmt:", "SAFETY")
            ):
                yield sentence


def texts(path: Path) -> Iterator[Text]:
    """Yield docstrings and comments of a file."""
    content = path.read_text(encoding="utf-8")
    yield from (_rust(path, content) if path.suffix == ".rs" else _python(path, content))


def _rust(path: Path, content: str) -> Iterator[Text]:
    begun, lines, kind = 0, list[str](), ""
    for number, line in enumerate([*content.splitlines(), ""], 1):
        found = _RUST.match(line)
        if lines and (not found or found[1] != kind):
            yield Text(path, begun, _plain("\n".join(lines)), doc=kind != "//")
            lines = []
        if found:
            if not lines:
                begun, kind = number, found[1]
            lines.append(found[2])


def _plain(words: str) -> str:
    """Leave out blocks of code."""
    return re.sub(r"```.*?(```|$)", "", words, flags=re.DOTALL)


def _python(path: Path, content: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(content)):
        for one in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            ):
                words = re.sub(r"::\n\n(\s{4,}.*\n|\n)*", ".\n\n", one.value.value)
                words = re.sub(r"^(\s*)[A-Z][a-z]+\n\s*-{3,}$", r"\n", words, flags=re.MULTILINE)
                words = re.sub(
                    r"^(\s*)[a-z_*]+( :.*|, [a-z_, ]+)?\n(?=\1    )", "\n\n", words, flags=re.MULTILINE
                )
                yield Text(path, one.lineno, words, doc=True)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            words = re.sub(r"^#+:? ?(noqa: [A-Z0-9, ]+( - |  )?|type: ignore\S*|fmt: \w+)?", "", token.string)
            if words.strip():
                yield Text(path, token.start[0], words, doc=False)


def strings(path: Path, content: str) -> Iterator[Text]:
    """Yield strings of three words or more that a module may show to readers, with X for what is filled in or quoted."""
    tree = ast.parse(content)
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
        words = "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in pieces)
        words = _QUOTED.sub("X", words)
        # HTML, SQL and names of columns are no sentences.
        if words.count(" ") >= FEWEST_SPACES and not words.lstrip().startswith(("<", "SELECT ", "CREATE ")):
            yield Text(path, node.lineno, words, doc=False)


def page(path: Path) -> Text:
    """Return a document or a template as text: without blocks of code and targets of links, and with X for code."""
    return Text(path, 1, _TARGET.sub("]", _MARKUP.sub(_gap, path.read_text(encoding="utf-8"))), doc=False)


def _gap(found: re.Match[str]) -> str:
    return "\n\n" if found[0].lstrip().startswith("```") else "X"


def parts(document: Text) -> Iterator[Text]:
    """Yield each paragraph, list item and cell of a document, on one line; headings are left out."""
    for part in _PART.split(document.words):
        yield Text(document.path, 1, " ".join(part.replace("**", "").split()), doc=False)


def retired(words: str, of: tuple[str, ...]) -> Iterator[str]:
    """Yield the retired words of a text, each with its surroundings; a part of a code as `udp-beside` is none."""
    for word in of:
        for found in re.finditer(rf"(?<![\w-]){word}(?![\w-])", " ".join(words.split()), re.IGNORECASE):
            yield f"'{word}': {found.string[max(0, found.start() - 40) : found.end() + 40]}"


def faults(text: Text, of: tuple[str, ...] = RETIRED) -> Iterator[str]:
    """Yield what of a text breaks a rule, and the retired words that it has."""
    if text.doc and LEANING.search(text.words.strip()):
        yield f"leans on another line: {text.words.strip()[:60]}"
    for sentence in text.sentences():
        if (count := len(re.findall(r"[\w'%]+(?:[-./][\w'%]+)*", sentence))) > MOST_WORDS:
            yield f"{count} words: {sentence}"
        yield from retired(sentence, of)


def tracked(*patterns: str) -> list[Path]:
    """Return the files of the repository that fit."""
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).exists()]


def main(names: list[str]) -> None:
    """List faults, and doc lines with `what` or a word of telling."""
    paths = [
        path for name in names for path in ([Path(name)] if Path(name).is_file() else tracked(f"{name}/*"))
    ]
    lines = leaning = telling = 0
    for path in paths or tracked(*WRITTEN):
        if path.suffix not in (".py", ".pyi", ".rs"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in NAMES:
                if re.search(rf"\b{name}\b", line):
                    print(f"{path}:{number}: name '{name}'")
        for text in texts(path):
            for fault in faults(text):
                print(f"{path}:{text.line}: {fault}")
            for line in text.words.splitlines() if text.doc else []:
                lines += bool(line.strip())
                leaning += bool(WHAT.search(line))
                telling += bool(TELLING.search(line))
                if WHAT.search(line) or TELLING.search(line):
                    print(f"{path}:{text.line}: what/told: {line.strip()}")
    print(f"{lines} doc lines, {leaning} with 'what', {telling} with a word of telling")


if __name__ == "__main__":
    main(sys.argv[1:])
