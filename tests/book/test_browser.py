"""The book in a real Chromium, from its files, without a network: it plays, turns dark, prints.

With FA_SHOTS set to a folder, pictures of what was seen are left there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab import CHROMIUM_ARGS, chromium
from small_book import Small

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
EN = "03_softmax_in_blocks.html"
DARK = "() => document.documentElement.dataset.jpThemeLight === 'false'"
WIDE = "() => document.documentElement.scrollWidth <= innerWidth"
PAGE_COLOUR = "() => getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=chromium(), headless=True, args=CHROMIUM_ARGS
        )
        yield made
        made.close()


@contextmanager
def opened(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """A page of its own; it may complain of nothing and load nothing but files."""
    context = browser.new_context(offline=True, **options)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: wrong.append(asked.url)
            if not asked.url.startswith(("file:", "data:")) else None)  # fmt: skip
    go(page, address)
    yield page
    assert wrong == []
    context.close()


def go(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_function("() => document.documentElement.dataset.bookReady")


def shot(page: Any, name: str) -> None:
    if folder := os.environ.get("FA_SHOTS"):
        page.screenshot(path=str(Path(folder) / f"book_{name}.png"))


def test_a_player_plays_and_sliders_change_the_picture(small: Small, browser: Any) -> None:
    with opened(browser, (small.folder / EN).as_uri()) as page:
        player = page.locator("#play .fa-player")
        place = player.locator(".fa-head span").first
        assert place.inner_text().startswith("step 1 of")
        player.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert place.inner_text().startswith("step 3 of")
        player.locator(".fa-speak").click()  # the player speaks both languages without a kernel
        assert "3" in place.inner_text() and "步" in place.inner_text()
        slider, picture = page.locator("#film input"), page.locator("#film svg[role=img]")
        before = picture.inner_html()
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#film output").inner_text() == "3"
        assert slider.get_attribute("aria-valuetext") == "3"
        assert picture.count() == 1 and picture.inner_html() != before
        page.locator("#guess summary").click()
        assert page.locator("#guess p").is_visible()
        shot(page, "player")


def test_the_theme_follows_the_system_until_the_reader_chooses(small: Small, browser: Any) -> None:
    with opened(browser, (small.folder / EN).as_uri(), color_scheme="dark") as page:
        assert page.evaluate(DARK)
        dark = page.evaluate(PAGE_COLOUR)
        player = page.locator("#play .fa-player")
        assert player.evaluate("e => getComputedStyle(e).backgroundColor") == dark
        shot(page, "dark")
        page.emulate_media(color_scheme="light")
        page.wait_for_function("() => document.documentElement.dataset.jpThemeLight === 'true'")
        assert page.evaluate(PAGE_COLOUR) != dark
        page.locator(".bk-theme select").select_option("dark")
        assert page.evaluate(DARK)
        go(page, (small.folder / "index.html").as_uri())
        assert page.evaluate(DARK), "the choice holds on the next page"
        page.locator(".bk-theme select").select_option("auto")
        assert not page.evaluate(DARK)


def test_the_other_language_opens_at_the_same_place(small: Small, browser: Any) -> None:
    with opened(browser, (small.folder / EN).as_uri() + "#deeper") as page:
        box = page.locator(".bk-other").bounding_box()
        page.mouse.click(box["x"] + 5, box["y"] + 5)  # `click` would scroll the page first
        page.wait_for_url("**/zh/**")
        page.wait_for_function("() => document.documentElement.dataset.bookReady")
        assert page.url.endswith(f"zh/{EN}#deeper")
        top = page.locator("#deeper").evaluate("e => e.getBoundingClientRect().top")
        assert 0 <= top < 150
        page.locator(".bk-home").click()
        page.wait_for_url("**/zh/index.html")


def test_a_phone_shows_everything_in_its_width(small: Small, browser: Any) -> None:
    narrow = {"width": 390, "height": 844}
    for name in ("index.html", EN, f"zh/{EN}", "glossary.html"):
        with opened(browser, (small.folder / name).as_uri(), viewport=narrow) as page:
            assert page.evaluate(WIDE), name
            listed = page.locator(".bk-toc details")
            if listed.count():
                assert listed.get_attribute("open") is None
                listed.locator("summary").click()
                listed.locator("a").last.click()
                assert page.evaluate("() => scrollY") > 100 or name == "glossary.html"
            bar = page.locator(".bk-bar").evaluate("e => e.getBoundingClientRect().height")
            assert bar < 60
            shot(page, f"phone_{name.replace('/', '_')}")


def test_on_paper_it_is_light_and_open_and_has_no_controls(small: Small, browser: Any) -> None:
    with opened(browser, (small.folder / EN).as_uri(), color_scheme="dark") as page:
        page.emulate_media(media="print")
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert not page.evaluate(DARK)
        assert page.locator("#guess p").is_visible()
        assert not page.locator(".bk-bar").is_visible()
        assert not page.locator("#play .fa-controls").is_visible()
        page.evaluate("() => dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        assert page.evaluate(DARK) and not page.locator("#guess p").is_visible()
        made = page.pdf()
        assert made.startswith(b"%PDF") and len(made) > 20_000


def test_without_scripts_the_words_are_there(small: Small, browser: Any) -> None:
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((small.folder / EN).as_uri())
    assert "This player needs JavaScript" in page.locator("#play").inner_text()
    assert (
        page.locator("#play noscript pre").is_visible() and page.locator("#film svg").is_visible()
    )
    context.close()
