"""A small course with the outputs of its cells, made by hand. Holds no tests; runs no kernel."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from fa_toolkit import viz
from fa_toolkit.book import running, site
from fa_toolkit.book.inside import FILM, PREDICTION
from fa_toolkit.book.players import STATE, VIEW
from fa_toolkit.language import LANGUAGES, Language, using
from fa_toolkit.quiz.widget import quiz
from fa_toolkit.viz.sliders import scrub

NAMES = {3: "03_softmax_in_blocks.ipynb", 4: "04_flash_attention_in_tiles.ipynb"}
SVG = '<svg role="img" aria-label="a line" viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg>'
START = "import fa_toolkit as fa\n\nfa.course.start(3)"

new_markdown: Any = nbformat.v4.new_markdown_cell
new_code: Any = nbformat.v4.new_code_cell
new_output: Any = nbformat.v4.new_output


class Small(NamedTuple):
    """A built book, and what it was built from."""

    folder: Path
    source: Path
    kept: Path
    built: site.Built

    def read(self, href: str) -> str:
        """The text of one page."""
        return (self.folder / href).read_text(encoding="utf-8")


def prose(id_: str, source: str, minutes: int = 0) -> Any:
    """A Markdown cell, perhaps the head of a part."""
    metadata = {"fa": {"part": {"minutes": minutes, "tracks": []}}} if minutes else {}
    return new_markdown(source, id=id_, metadata=metadata)


def code(id_: str, source: str, *outputs: Any, exercise: str = "") -> Any:
    """A code cell with what it showed."""
    metadata = {"tags": ["exercise"], "fa": {"exercise": exercise}} if exercise else {}
    return new_code(source, id=id_, outputs=list(outputs), metadata=metadata)


def result(**data: Any) -> Any:
    """An output of `display`: form -> content, `/` written as `__`."""
    return new_output("display_data", data={k.replace("__", "/"): v for k, v in data.items()})


def of_widget(widget: Any, models: dict[str, Any], **more: Any) -> Any:
    """A widget's output as a front end gets it, its state put into `models`."""
    state = widget.get_state()
    blob = state.pop("blob", b"")
    buffers = [{"path": ["blob"], "encoding": "base64", "data": base64.b64encode(blob).decode()}]
    models[widget.model_id] = {"model_name": "AnyModel", "state": state, "buffers": buffers}
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    data = {**data, VIEW: {"model_id": widget.model_id}, **more}
    return new_output("display_data", data=data)


@cache
def widgets(lang: Language) -> tuple[list[Any], dict[str, Any]]:
    """Outputs of a player, a quiz, sliders with pictures, sliders without; and their state."""
    models: dict[str, Any] = {}
    with using(lang):
        sliders = scrub(lambda n: viz.softmax_bars([1, 2, 3], n), n=(1, 3), at={"n": 2})
        outputs = [
            of_widget(viz.stepper([1, 2, 3, 4], blocks=2), models),
            of_widget(quiz(3), models),
            of_widget(sliders, models, **{FILM: sliders.film()}),
            of_widget(scrub(lambda x: viz.softmax_bars([x], 1), x=(0.0, 1.0)), models),
        ]
    return outputs, models


def chapter(number: int, lang: Language) -> Any:
    """A chapter that has one of everything, executed."""
    other = {3: 4, 4: 3}[number]
    up, down = ("../", "") if lang == "zh" else ("", "zh/")
    (stepper, asked, film, dead), models = widgets(lang)
    title = {"en": f"Chapter {number}", "zh": f"第 {number} 章"}[lang]
    cells = [
        prose("title", f"# {title}\n\nThe promise.\n\n*You need: nothing. Time: 5 minutes.*"),
        prose("links-top", f"[{lang}]({up or down}{NAMES[number]}) nowhere-else"),
        code("setup", START, result(text__html="<p>CPU of this machine</p>")),
        prose("first", f"## A part, `named`\n\nSee [the other]({NAMES[other]}#A-part,-named).", 7),
        code("guess", "fa.course.compare(guess, 0.25)",
             result(text__html="<p>No guess yet</p>", **{PREDICTION: {"value": "0.25", "unit": "MiB"}})),
        code("play", "fa.viz.stepper([1, 2, 3, 4], blocks=2)", stepper),
        code("film", "fa.viz.scrub(draw, n=(1, 3))", film),
        code("dead", "fa.viz.scrub(draw, x=(0.0, 1.0))", dead),
        code("figure", "fa.viz.softmax_bars([1, 2])",
             result(text__html=f"<style>.x{{}}</style>{SVG}", image__png="iVBORw0KGgo=")),
        prose("deeper", "### Deeper\n\nMore in the [words](glossary.md#word) and the "
              f"[words again]({'../' if lang == 'zh' else ''}../quizzes/glossary.yaml)."),
        code("printed", "print(1)", new_output("stream", name="stdout", text="\x1b[31mred\x1b[0m 1<2\n")),
        prose("task", "## Exercises\n\n> **03.merge.** Merge two states."),
        code("stub", "def merge(a, b):\n    raise NotImplementedError", exercise="03.merge"),
        code("check", 'fa.course.check("03.merge", merge)',
             result(text__html="<p>03.merge not attempted</p>")),
        code("questions", "fa.course.quiz(3)", asked),
        code("mine", "fa.course.progress()", result(text__html="<p>0 of 12</p>")),
        prose("end", "## Recap\n\n| name | what |\n|---|---|\n| m | maximum |"),
    ]  # fmt: skip
    made: Any = nbformat.v4.new_notebook(cells=cells)
    made.metadata["language_info"] = {"name": "python"}
    made.metadata["widgets"] = {STATE: {"state": models}}
    return made


def course(folder: Path) -> tuple[Path, Path]:
    """The notebooks in a folder, without outputs, and the kept ones: (source, kept)."""
    source, kept = folder / "notebooks", folder / "kept"
    (source / "zh").mkdir(parents=True)
    kept.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "quizzes").mkdir()
    (folder / "quizzes" / "glossary.yaml").write_text("[]")
    for lang in LANGUAGES:
        where = source / "zh" if lang == "zh" else source
        (where / "glossary.md").write_text("# Words\n\nAll of them.\n\n## word\n\nA word.\n")
        for number, name in NAMES.items():
            put(where / name, chapter(number, lang), kept)
    return source, kept


def put(file: Path, executed: Any, kept: Path) -> None:
    """Write a notebook without its outputs, and keep the executed one as if it had been run."""
    text = nbformat.writes(executed)  # type: ignore[no-untyped-call]
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    executed.metadata.pop("widgets", None)
    file.write_text(nbformat.writes(executed), encoding="utf-8")  # type: ignore[no-untyped-call]
    (kept / f"{running.mark(file.read_bytes())}.ipynb").write_text(text, encoding="utf-8")
