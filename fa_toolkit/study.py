"""The learner's copies of the notebooks: made, brought up to date, never overwritten.

`notebooks/` belongs to the course and `study/` to the learner. A manifest in `study/` remembers
what each copy was when it was made, as a hash of its cell sources, so a copy that was only run
(outputs, execution counts) still counts as untouched. An untouched copy follows the course; an
edited one stays as it is, and the new version is laid beside it as `NN_name.new.ipynb`. Knows
nothing of Jupyter servers or of progress.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .errors import ArgumentError, StoreError
from .language import Language, Text, current, say

PACKAGE = Path(__file__).resolve().parent
#: no package index has this package, so the checkout is what is installed from
INSTALL_COURSE = Text(
    'pip install ".[course]" in the checkout', '在仓库目录里 pip install ".[course]"'
)
MANIFEST = ".fa-study.json"
FORM = 1  # of the manifest
NAMED = 6  # files that a line names; of more it gives the number

_COPIED = Text("{n} new: {names}", "新增 {n} 个：{names}")
_REFRESHED = Text("{n} brought up to date: {names}", "更新 {n} 个：{names}")
_BESIDE = Text(
    "{name} has a new version. You changed yours, so it stays; the new one is {new}",
    "{name} 有新版本。你改过自己的那份，所以原样保留；新版放在 {new}",
)
_LOST = Text(
    "{manifest} could not be read, so every file that differs from the course counts as yours",
    "读不了 {manifest}，凡与课程不同的文件都当作你改过的",
)
_NONE = Text("No notebooks were found in {source}", "{source} 里没有 notebook")


@dataclass
class Update:
    """What one call of `prepare` did; names are relative to `folder`."""

    folder: Path
    source: Path
    copied: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    manifest_lost: bool = False

    def messages(self) -> list[str]:
        """What the learner should know, in the language in force; empty if nothing changed."""
        lines = [say(_LOST, manifest=MANIFEST)] if self.manifest_lost else []
        for text, names in ((_COPIED, self.copied), (_REFRESHED, self.refreshed)):
            if names:
                shown = [*names[:NAMED], "…"] if len(names) > NAMED else names
                lines.append(say(text, n=len(names), names=", ".join(shown)))
        lines += [say(_BESIDE, name=name, new=new) for name, new in self.beside.items()]
        if not (self.copied or self.refreshed or self.kept):
            lines.append(say(_NONE, source=self.source))
        return lines


def checkout() -> Path | None:
    """The root of the checkout this package is imported from; None if it was installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "setup").is_dir() else None


def source_folder() -> Path:
    """Where the course's own notebooks are: in the checkout, else inside the package."""
    root = checkout()
    return root / "notebooks" if root else PACKAGE / "_data" / "notebooks"


def study_folder() -> Path:
    """Where the learner's copies are: `FA_STUDY`, else `study/` of the checkout, else Documents."""
    chosen = os.environ.get("FA_STUDY")
    if chosen:
        return Path(chosen).expanduser()
    root = checkout()
    if root:
        return root / "study"
    from platformdirs import user_documents_path

    return user_documents_path() / "flash-attention-course"


def notebook(chapter: int = 0, lang: Language | None = None, source: Path | None = None) -> str:
    """The chapter's notebook, relative to a study folder: Chinese if there is one and it is asked.

    Raises:
        ArgumentError: if there is no such chapter.
    """
    source = source or source_folder()
    folders = ("zh", ".") if (lang or current()) == "zh" else (".",)
    for folder in folders:
        for path in sorted((source / folder).glob(f"{chapter:02d}_*.ipynb")):
            return path.relative_to(source).as_posix()
    have = sorted({path.name[:2] for path in source.glob("[0-9][0-9]_*.ipynb")})
    raise ArgumentError(
        "chapter",
        expected=Text(f"one of {', '.join(have) or 'none'}", f"{'、'.join(have) or '无'}之一"),
        got=f"{chapter:02d}",
    )


def require_chapter(chapter: int | None, folder: Path) -> None:
    """Nothing if the chapter is in the course or among the learner's notebooks, or none was asked.

    Raises:
        ArgumentError: if it is in neither.
    """
    if chapter is not None and not any(
        any((folder / part).glob(f"{chapter:02d}_*.ipynb")) for part in (".", "zh")
    ):
        notebook(chapter)


def prepare(folder: Path | None = None, source: Path | None = None) -> Update:
    """Make or update the copies in `folder` from the course's notebooks in `source`.

    Safe to call at every start, and to be killed at any moment: every file is replaced whole, and
    a manifest that lags behind only makes this keep more.

    Raises:
        StoreError: if the folder is a file or cannot be written.
    """
    update = Update(folder=folder or study_folder(), source=source or source_folder())
    try:
        update.folder.mkdir(parents=True, exist_ok=True)
        known, update.manifest_lost = _read_manifest(update.folder)
        before = json.dumps(known, sort_keys=True)
        for path in sorted(update.source.rglob("*")):
            name = path.relative_to(update.source)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                _bring(update, known, name.as_posix(), path.read_bytes())
        if json.dumps(known, sort_keys=True) != before:
            _replace(update.folder / MANIFEST, _manifest_bytes(known))
    except OSError as error:
        raise StoreError(
            str(update.folder),
            expected=Text("a folder that can be written", "可以写入的文件夹"),
            got=str(error),
            hint=Text(
                "another folder: FA_STUDY=<folder> or fa lab --study <folder>",
                "换一个文件夹：FA_STUDY=<文件夹> 或 fa lab --study <文件夹>",
            ),
        ) from error
    return update


def _bring(update: Update, known: dict[str, str], name: str, course: bytes) -> None:
    """Copy, refresh, keep, or lay beside: the one decision about one file."""
    target = update.folder / name
    wanted = content_hash(course)
    if not os.path.lexists(target):
        _replace(target, course)
        known[name] = wanted
        update.copied.append(name)
        return
    own = None if target.is_symlink() or not target.is_file() else target.read_bytes()
    mine = None if own is None else content_hash(own)
    if own is not None and mine == wanted and _version(own) == _version(course):
        known[name] = wanted
        update.kept.append(name)
    elif mine is not None and mine in (wanted, known.get(name)):
        _replace(target, course)
        known[name] = wanted
        update.refreshed.append(name)
    else:
        update.kept.append(name)
        _lay_beside(update, known, name, course)


def _lay_beside(update: Update, known: dict[str, str], name: str, course: bytes) -> None:
    """Offer the new version of an edited file once, under a name that holds nothing of theirs."""
    wanted = content_hash(course)
    offered = f"offered:{name}"
    if wanted in (known.get(name), known.get(offered)):
        return
    path = Path(name)
    for number in range(1, 1000):
        new = path.with_name(f"{path.stem}.new{'' if number == 1 else f'-{number}'}{path.suffix}")
        target = update.folder / new
        free = not os.path.lexists(target)
        untouched = (
            not free
            and not target.is_symlink()
            and target.is_file()
            and content_hash(target.read_bytes()) in (known.get(offered), wanted)
        )
        if free or untouched:
            _replace(target, course)
            known[offered] = wanted
            update.beside[name] = new.as_posix()
            return


def content_hash(raw: bytes) -> str:
    """What a learner would miss if it were gone: the sources of all cells that are not empty.

    Outputs, execution counts, metadata and the empty cell that Shift+Enter leaves at the end do
    not count. Anything that is not a notebook counts byte for byte.
    """
    try:
        cells = json.loads(raw)["cells"]
        parts = [
            [cell["cell_type"], "".join(cell["source"]), cell.get("attachments") or {}]
            for cell in cells
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return "raw:" + hashlib.sha256(raw).hexdigest()
    written = [part for part in parts if part[1].strip() or part[2]]
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def _version(raw: bytes) -> object:
    """The version of the package a notebook says it was written for, if it says one."""
    try:
        return json.loads(raw)["metadata"]["fa"]["version"]
    except (ValueError, TypeError, KeyError):
        return None


def _read_manifest(folder: Path) -> tuple[dict[str, str], bool]:
    """Name -> hash as copied, and whether a manifest was there but could not be used."""
    try:
        data = json.loads((folder / MANIFEST).read_bytes())
        files = data["files"]
        good = data["form"] == FORM and all(isinstance(value, str) for value in files.values())
    except FileNotFoundError:
        return {}, False
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}, True
    return (dict(files), False) if good else ({}, True)


def _manifest_bytes(known: dict[str, str]) -> bytes:
    data = {"form": FORM, "files": dict(sorted(known.items()))}
    return json.dumps(data, indent=1, ensure_ascii=False).encode()


def _replace(target: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".fa-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
