"""Run the examples of README.md and of every page here: ``python docs/run.py [--update] [PAGE ...]``.

A page's ``python`` blocks run in order, as one script, in a folder of their own. What a block prints must be what the ``text``
block after it shows; ``--update`` writes it there, and copies the figures that the page saved to ``docs/images``. A ``toml`` block
whose first line is a comment with a file name becomes that file. Lines ``serdes ...`` of ``sh`` blocks must be commands that exist;
the quick ones are run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
FENCE = re.compile(r"^```(?P<language>[a-z]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
QUICK = ("channel", "eye", "com", "sweep", "tdecq")
"""Commands of ``sh`` blocks that are run; of the others name and options are checked."""


class ExampleError(AssertionError):
    """An example that fails, or prints something else than its page says."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: ``line`` of its first line in the page, ``start`` and ``end`` of its body in the page's text."""

    language: str
    body: str
    line: int
    start: int
    end: int


def pages() -> list[Path]:
    """README.md and every page that has examples."""
    found = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]
    return [p for p in found if any(b.language in ("python", "sh") for b in blocks(p.read_text(encoding="utf-8")))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page that name a language."""
    return [
        Block(
            language=m["language"], body=m["body"], line=text.count("\n", 0, m.start("body")) + 1, start=m.start("body"),
            end=m.end("body"),
        )
        for m in FENCE.finditer(text)
    ]  # fmt: skip


def sample_channel(path: Path) -> None:
    """A 1 m cable with a little skew, as somebody's own measured channel."""
    import numpy as np

    from channels.lines import Twinax
    from channels.pair import TwinaxPair
    from channels.touchstone import write_touchstone
    from dsp.units import GHz, ps

    f = np.arange(0, 67.01, 0.05) * GHz
    pair = TwinaxPair(cable=Twinax(length=1.0, gauge=30), skews=(2 * ps,))
    write_touchstone(path, f, pair.s(f, 50.0), 50.0)


def run(page: Path, folder: Path) -> dict[Block, str]:
    """Run a page in ``folder``: what each block printed. Raises ExampleError with page and line."""
    if not (folder / "your_channel.s4p").exists():
        sample_channel(folder / "your_channel.s4p")
    printed: dict[Block, str] = {}
    names: dict[str, Any] = {"__name__": "example"}
    with contextlib.chdir(folder):
        for block in blocks(page.read_text(encoding="utf-8")):
            try:
                if block.language == "python":
                    printed[block] = _script(block) if "__main__" in block.body else _python(block, page, names)
                elif block.language == "toml":
                    first = block.body.splitlines()[0]
                    if first.startswith("# ") and first.endswith(".toml"):
                        Path(first.removeprefix("# ")).write_text(block.body, encoding="utf-8")
                elif block.language == "sh":
                    _commands(block)
            except Exception as error:
                raise ExampleError(f"{page}:{block.line}: {type(error).__name__}: {error}") from error
    return printed


def _python(block: Block, page: Path, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (block.line - 1) + block.body, str(page), "exec"), names)  # noqa: S102  our own pages
    return out.getvalue()


def _script(block: Block) -> str:
    """A block that starts processes is a script: these import it anew."""
    Path("script.py").write_text(block.body, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )  # fmt: skip
    if done.returncode:
        raise ExampleError(done.stderr)
    return done.stdout


def _commands(block: Block) -> None:
    from typer.main import get_command
    from typer.testing import CliRunner

    from experiments import cli

    for line in block.body.splitlines():
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            if words[:1] != ["serdes"]:
                continue
            if words[1] in QUICK:
                done = CliRunner().invoke(cli.app, words[1:], catch_exceptions=False)
                if done.exit_code:
                    raise ExampleError(f"{part.strip()}: status {done.exit_code}: {done.output}")
            else:
                _parse(get_command(cli.app), words)


def _parse(command: Any, words: list[str]) -> None:
    """Raises click's error for a command or an option that does not exist."""
    context = command.make_context(words[0], words[1:], resilient_parsing=False)
    while hasattr(command, "resolve_command"):
        _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(command.name, rest, parent=context)


def differences(page: Path, printed: dict[Block, str]) -> list[str]:
    """Where the page shows something else than was printed: "line: shown, printed"."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block, out in printed.items():
        shown = _shown(text, block)
        if (shown.body if shown else "").strip() != _trimmed(out).strip():
            found.append(f"{page.name}:{block.line}: the page shows\n{shown.body if shown else ''}\nprinted was\n{out}")
    return found


def _trimmed(out: str) -> str:
    return "\n".join(line.rstrip() for line in out.splitlines()) + "\n" if out else ""


def _shown(text: str, block: Block) -> Block | None:
    """The ``text`` block right after ``block``."""
    after = [b for b in blocks(text) if b.start > block.end][:1]
    if after and after[0].language == "text" and not text[block.end + 3 : after[0].start - len("```text\n")].strip():
        return after[0]
    return None


def update(page: Path, printed: dict[Block, str], folder: Path) -> None:
    """Write what was printed into the page, and copy its figures."""
    text = page.read_text(encoding="utf-8")
    for block, out in reversed(printed.items()):
        shown = _shown(text, block)
        if shown is not None:
            text = text[: shown.start] + _trimmed(out) + text[shown.end :]
        elif out:
            end = block.end + 4
            text = f"{text[:end]}\n```text\n{_trimmed(out)}```\n{text[end:]}"
    page.write_text(text, encoding="utf-8")
    for picture in folder.glob("*.png"):
        if f"images/{picture.name}" in text:
            shutil.copy(picture, DOCS / "images" / picture.name)


def main(arguments: list[str]) -> int:
    """Run the pages named, or all; the number of those that differ."""
    wrong = 0
    chosen = [Path(a).resolve() for a in arguments if not a.startswith("-")] or pages()
    for page in chosen:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            printed = run(page, folder)
            if "--update" in arguments:
                update(page, printed, folder)
                printed = {replace(b): out for b, out in zip(_python_blocks(page), printed.values(), strict=True)}
            found = differences(page, printed)
        wrong += bool(found)
        print(f"{page.relative_to(ROOT)}: {'differs' if found else 'ok'}", *found, sep="\n")
    return wrong


def _python_blocks(page: Path) -> list[Block]:
    return [b for b in blocks(page.read_text(encoding="utf-8")) if b.language == "python"]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
