"""The `fa` command: the course from a terminal.

Each subcommand imports what it needs when it runs, so that `fa --help` is instant.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import __version__, language
from .command_texts import ABOUT as _ABOUT
from .command_texts import HELP as _HELP
from .command_texts import OPTIONS as _OPTIONS
from .command_texts import SAID as _SAID
from .command_texts import WORDS as _WORDS
from .errors import FaError, StoreError
from .language import LANGUAGES, Text, say

#: exit codes, as in the shell's own conventions
DONE, NOT_SO, MISUSED, INTERRUPTED = 0, 1, 2, 130

_OPENING = Text(
    "JupyterLab opens here (Ctrl+C twice ends it):", "JupyterLab 的地址（按两次 Ctrl+C 结束）："
)
_RUNS_ALREADY = Text(
    "A JupyterLab for this folder is running already:", "这个文件夹的 JupyterLab 已经在运行："
)
_FOLDER = Text("Your notebooks: {folder}", "你的 notebook：{folder}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code and never a traceback for a known mistake."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    wanted = _language_asked(arguments)
    if wanted in LANGUAGES:
        language.choose(wanted)
    _mend_streams()
    own, extra = _for_jupyter(arguments)
    options = _parser().parse_args(own)
    options.given, options.extra = arguments, extra
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except FaError as error:
        print(f"fa: {error}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has gone: fa doctor | head -1
        _silence()
        return DONE
    except OSError as error:  # a file of the caller's; the disk is full, or the terminal has gone
        print(f"fa: {_of_file(error)}", file=sys.stderr)
        _silence()
        return NOT_SO
    return code


def _for_jupyter(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and what stands behind `--` after `lab`, which goes to jupyter-lab."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return (arguments[:at], arguments[at + 1 :]) if "lab" in arguments[:at] else (arguments, [])


def _mend_streams() -> None:
    """A sign that the terminal's encoding lacks becomes `?`; a stream that was closed is empty.

    What is typed where ASCII is said to be all there is may still be UTF-8, which contains it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  (to the process's end)
        elif hasattr(stream, "reconfigure"):
            ascii_only = mode == "r" and codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")


def _of_file(error: OSError) -> OSError | FaError:
    """The system's complaint about a file as a sentence of ours; about no file as it is."""
    if error.filename is None:
        return error
    expected = Text("a file or folder that can be used so", "可以这样使用的文件或文件夹")
    return StoreError(str(error.filename), expected=expected, got=error.strerror or str(error))


def _silence() -> None:
    """Throw away what could not be written, so that leaving does not try it again."""
    with contextlib.suppress(OSError):  # a stand-in without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """argparse in the language in force."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        keywords.setdefault("formatter_class", _Formatter)
        super().__init__(*args, **keywords)
        if not self.add_help:  # a parent, whose options join those of the same title
            return
        self._positionals.title = say(_WORDS["positional"])
        self._optionals.title = say(_WORDS["optional"])
        for action in self._actions:
            if "-h" in action.option_strings:
                action.help = say(_WORDS["help"])

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """An empty value is a variable that was not set, never a folder, chapter or name."""
        if action.nargs != argparse.PARSER and not all(text.strip() for text in arg_strings):
            raise argparse.ArgumentError(action, "expected one argument")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        """What is wrong after how it is used."""
        self.print_usage(sys.stderr)
        chinese = message
        for said, written in _SAID:
            chinese = re.sub(f"^{said}$", written, chinese, flags=re.DOTALL)
        line = say(_WORDS["error"], prog=self.prog, message=say(Text(message, chinese)))
        self.exit(MISUSED, line)


class _Formatter(argparse.HelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(
            usage, actions, groups, say(_WORDS["usage"]) if prefix is None else prefix
        )


def _language_asked(arguments: list[str]) -> str:
    """The value of --lang, found before parsing so that the help speaks it too."""
    for at, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--lang" and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
    return ""


def _parser() -> argparse.ArgumentParser:
    every = _Parser(add_help=False)
    every.add_argument("--lang", choices=LANGUAGES, help=say(_OPTIONS["lang"]))
    parser = _Parser(prog="fa", description=say(_ABOUT), parents=[every])
    parser.add_argument("--version", action="version", version=f"fa-toolkit {__version__}",
                        help=say(_WORDS["version"]))  # fmt: skip
    commands = parser.add_subparsers(metavar="<command>", required=True)

    def add(name: str, run: object) -> argparse.ArgumentParser:
        text = say(_HELP[name])
        command = commands.add_parser(name, help=text, description=text, parents=[every])
        command.set_defaults(run=run)
        return command

    lab = add("lab", _lab)
    lab.add_argument("chapter", nargs="?", type=int, help=say(_OPTIONS["chapter"]))
    lab.add_argument("--chapter", type=int, dest="named", help=argparse.SUPPRESS)
    lab.add_argument("--port", type=int, help=say(_OPTIONS["port"]))
    lab.add_argument("--ip", default="127.0.0.1", help=say(_OPTIONS["ip"]))
    lab.add_argument("--no-browser", action="store_true", help=say(_OPTIONS["no_browser"]))
    lab.add_argument("--study", type=Path, metavar="DIR", help=say(_OPTIONS["study"]))
    lab.epilog = say(_OPTIONS["extra"])

    doctor = add("doctor", _doctor)
    doctor.add_argument("--plain", action="store_true", help=say(_OPTIONS["plain"]))

    quiz = add("quiz", _quiz)
    from .quiz import command

    quiz.add_argument(
        "chapter", nargs="?", type=command.chapter_or_act, metavar="chapter|lint|stats",
        help=say(_OPTIONS["quiz_chapter"]),
    )  # fmt: skip
    quiz.add_argument("--bank", type=Path, metavar="PATH", help=say(_OPTIONS["bank"]))
    quiz.add_argument("--judge", metavar="URL", help=say(_OPTIONS["judge"]))
    quiz.add_argument(
        "--judge-model", default="", metavar="NAME", help=say(_OPTIONS["judge_model"])
    )

    review = add("review", _review)
    review.add_argument("--limit", type=int, default=20, help=say(_OPTIONS["limit"]))
    review.add_argument("--by", metavar="DATE", help=say(_OPTIONS["by"]))

    interview = add("interview", _interview)
    interview.add_argument("--minutes", type=int, default=20, help=say(_OPTIONS["minutes"]))
    interview.add_argument("--topics", default="", help=say(_OPTIONS["topics"]))
    interview.add_argument("--level", default="adaptive", help=say(_OPTIONS["level"]))
    interview.add_argument("--all", action="store_true", help=say(_OPTIONS["everything"]))
    interview.add_argument("--save", type=Path, metavar="FILE", help=say(_OPTIONS["save"]))

    progress = add("progress", _progress)
    acts = progress.add_mutually_exclusive_group()
    acts.add_argument("--export", type=Path, metavar="FILE", help=say(_OPTIONS["export"]))
    acts.add_argument(
        "--import", type=Path, metavar="FILE", dest="source", help=say(_OPTIONS["import"])
    )
    acts.add_argument("--reset", action="store_true", help=say(_OPTIONS["reset"]))
    progress.add_argument("--yes", action="store_true", help=say(_OPTIONS["yes"]))

    check = add("check", _check)
    check.add_argument("exercise", nargs="?", help=say(_OPTIONS["exercise"]))
    check.add_argument("file", nargs="?", help=say(_OPTIONS["file"]))
    check.add_argument("--notebook", type=Path, metavar="FILE", help=say(_OPTIONS["notebook"]))
    check.add_argument("--json", action="store_true", help=say(_OPTIONS["json"]))

    from .bench.command import add_options
    from .book.command import add_options as add_book_options

    add_options(add("bench", _bench))
    add_book_options(add("book", _book))
    return parser


def _lab(options: argparse.Namespace) -> int:
    from . import lab, study
    from .course.resuming import opening

    lab.require()
    lab.check_address(options.ip, options.port)
    folder = (options.study or study.study_folder()).expanduser().resolve()
    chapter = options.named if options.chapter is None else options.chapter
    study.require_chapter(chapter, folder)
    update = study.prepare(folder)
    for line in update.messages():
        print(line)
    print(say(_FOLDER, folder=update.folder))
    found = opening(update.folder, chapter=chapter, asked=options.lang, lang=language.current())
    if found.sentence:
        print(found.sentence)
    already = None
    if options.port is None:
        already = lab.running(update.folder, found.notebook, found.cell)
    if already:
        print(say(_RUNS_ALREADY), already, sep="\n  ")
        if not options.no_browser:
            lab.show(already)
        return DONE
    planned = lab.plan(
        update.folder,
        notebook=found.notebook,
        cell=found.cell,
        ip=options.ip,
        port=options.port,
    )
    print(say(_OPENING), planned.url, sep="\n  ", flush=True)
    return lab.serve(planned, browser=not options.no_browser, extra=tuple(options.extra))


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import report

    found = report()
    if options.plain or not sys.stdout.isatty():
        print(found.text())
    else:
        from rich.console import Console

        from .terminal import sized

        console = sized(Console(highlight=False))
        console.print(found.table())
        console.print(f"\n{found.verdict}", style="green" if found.ok else "bold red")
    return DONE if found.ok else NOT_SO


def _quiz(options: argparse.Namespace) -> int:
    from .quiz import command

    if options.chapter in command.ACTS:
        return command.run(options.chapter, options.bank)
    from .terminal import quiz

    command.choose_judge(options.judge, options.judge_model)
    return quiz(command.chapter_to_ask(options.chapter, options.bank), bank=options.bank)


def _review(options: argparse.Namespace) -> int:
    from .rehearsing import review

    return review(options.limit, by=options.by)


def _interview(options: argparse.Namespace) -> int:
    from .rehearsing import interview

    topics = [name.strip() for name in options.topics.split(",") if name.strip()]
    return interview(
        options.minutes, topics, options.level, save=options.save, everything=options.all
    )


def _progress(options: argparse.Namespace) -> int:
    from . import rehearsing

    if options.export or options.source:
        return rehearsing.carry(to=options.export, source=options.source)
    if options.reset:
        return rehearsing.reset(sure=options.yes)
    return rehearsing.progress()


def _check(options: argparse.Namespace) -> int:
    if options.notebook is not None:
        return _grade(options.notebook, as_json=options.json)
    from .terminal import check

    return check(options.exercise, options.file)


def _grade(notebook: Path, *, as_json: bool) -> int:
    """Grade a notebook: DONE if every exercise of its chapters passed."""
    from .exercises.grading import grade, table

    found = grade(notebook)
    if as_json:
        import json

        print(json.dumps(found.as_dict(), ensure_ascii=False, indent=1))
    else:
        from .terminal import console

        out = console()
        out.print(table(found))
        for line in (found.warning, *map(str, found.errors)):
            if line:
                out.print(line)
        for report in found.reports:
            if report.outcome == "not yet":
                out.print(f"\n{report}")
    passed = bool(found.reports) and found.passed == len(found.reports)
    return DONE if passed else NOT_SO


def _bench(options: argparse.Namespace) -> int:
    from .bench.command import run

    return run(options, arguments=options.given, program="fa")


def _book(options: argparse.Namespace) -> int:
    from .book.command import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
