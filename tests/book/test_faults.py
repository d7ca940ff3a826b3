"""The look over a built site: a sound one has no fault, and every planted fault is found."""

from __future__ import annotations

import json
from pathlib import Path

from small_book import Small

from fa_toolkit import exercises
from fa_toolkit.book import faults, keys
from fa_toolkit.exercises import cells
from fa_toolkit.language import LANGUAGES, using
from fa_toolkit.quiz import load_bank

PAGE = "03_softmax_in_blocks.html"
PLANTED = {
    "dead file": ("</main>", '<a href="gone.html">x</a></main>', "file", "gone.html"),
    "file outside": ("</main>", '<a href="../../secret.html">x</a></main>', "file", "../../secret.html"),
    "dead anchor": ("</main>", '<a href="#gone">x</a></main>', "anchor", "#gone"),
    "dead anchor elsewhere": ("</main>", '<a href="glossary.html#g">x</a></main>', "anchor", "glossary.html#g"),
    "no target": ("</main>", '<a href="#">here</a></main>', "empty", "here"),
    "lost image": ("</main>", '<img alt="a" src="gone.png"></main>', "image", "gone.png"),
    "lost script": ("</body>", '<script src="assets/gone.js"></script></body>', "image", "assets/gone.js"),
    "from the network": ("</body>", '<script src="https://x.example/a.js"></script></body>',
                         "outside", "https://x.example/a.js"),
    "font of the network": ("</head>", "<style>@import url(https://x.example/a.css)</style></head>",
                            "outside", "https://x.example/a.css"),
    "image without words": ("</main>", '<img src="data:image/png;base64,AA"></main>', "alt", "<img"),
    "figure without words": (' aria-label="a line"', "", "alt", "<svg"),
    "level left out": ("</main>", "<h2>a</h2><h4>b</h4></main>", "heading", "b"),
    "second title": ("</main>", "<h1>again</h1></main>", "title", "2"),
    "one name twice": ("</main>", '<i id="twin"></i><b id="twin"></b></main>', "twice", "twin"),
    "no language": ('<html lang="en"', "<html", "language", ""),
    "typed formula": ("The promise.", "It costs $N^2$ bytes.", "formula", "$N^2$"),
}  # fmt: skip


def spoil(book: Path, old: str, new: str, page: str = PAGE) -> None:
    file = book / page
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_sound_book(small: Small) -> None:
    found = faults.look(small.folder)
    assert found.faults == []
    assert found.links > 50 and found.figures >= 8


def test_every_planted_fault_is_found(own: Path) -> None:
    for old, new, _, _ in PLANTED.values():
        spoil(own, old, new)
    (own / "lonely.html").write_text('<html lang="en"><h1>x</h1><a href="lonely.html">x</a></html>')
    found = faults.look(own).faults
    planted = [(PAGE, kind, target) for _, _, kind, target in PLANTED.values()]
    for page, kind, target in [*planted, ("lonely.html", "orphan", "")]:
        (one,) = [f for f in found if f.kind == kind and f.target.startswith(target)]
        assert one.page == page
        found.remove(one)
        for lang in LANGUAGES:
            with using(lang):
                assert str(one).startswith(f"{page}: ") and one.target in str(one)
    assert found == []


def test_what_is_no_fault(own: Path) -> None:
    """Dollars that are money or code, links to other sites, pictures that are decoration."""
    spoil(own, "The promise.", "It costs $5, not $6. <code>echo $HOME$PATH</code> and US$7$.")
    spoil(
        own, "</main>", '<a href="https://x.example/gone">x</a><a href="mailto:a@b.c">y</a></main>'
    )
    spoil(own, "</main>", '<span aria-hidden="true"><svg></svg></span></main>')
    assert faults.look(own).faults == []


def test_the_book_holds_no_keys(small: Small) -> None:
    assert len(keys.secrets().keys) > 2000 and len(keys.secrets().solutions) > 40
    assert keys.look(small.folder) == []


def test_planted_keys_and_solutions_are_found(own: Path) -> None:
    """In the text, across markup; in the data of a player; in a script; in both languages."""
    answer = load_bank().question("O3").model_answer
    reason = load_bank().chapter(3).questions[0]
    spoil(own, "</main>", f"<p>{answer.en[:40]}<em>{answer.en[40:]}</em></p></main>")
    spoil(own, "</main>", f"<p>{reason.explain.zh}</p></main>", "zh/index.html")
    data = json.dumps({"a": answer.zh}, ensure_ascii=False)
    spoil(
        own, "</main>", f'<script type="application/json">{data}</script></main>', "glossary.html"
    )
    (own / "assets" / "more.js").write_text(f"const a = `{answer.zh}`;", encoding="utf-8")
    solved = exercises.solved("03.merge")
    spoil(own, "</main>", f"<pre>{solved}</pre></main>", "index.html")
    assert {(fault.page, fault.kind, fault.target) for fault in keys.look(own)} == {
        (PAGE, "key", "O3"),
        ("zh/index.html", "key", reason.id),
        ("glossary.html", "key", "O3"),
        ("assets/more.js", "key", "O3"),
        ("index.html", "solution", "03.merge"),
    }


def test_a_stub_is_no_solution(own: Path) -> None:
    stubs = "\n\n".join(cells.stub(name) for name in exercises.ids())
    spoil(own, "</main>", f"<pre>{stubs.replace('<', '&lt;')}</pre></main>")
    assert keys.look(own) == []
