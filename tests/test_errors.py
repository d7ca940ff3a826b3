"""Every error is also a builtin, says its four things in both languages, and survives a copy."""

from __future__ import annotations

import builtins
import copy
import pickle

import pytest

from fa_toolkit import errors
from fa_toolkit.errors import FaError, UnknownNameError
from fa_toolkit.language import Text, using

KINDS = sorted(
    (
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, FaError) and kind is not FaError
    ),
    key=lambda kind: kind.__name__,
)
EXPECTED_BUILTIN = {
    "ArgumentError": ValueError,
    "BackendUnavailable": RuntimeError,
    "BankError": ValueError,
    "DeviceError": ValueError,
    "DtypeError": TypeError,
    "OutOfBoundsError": IndexError,
    "ShapeError": ValueError,
    "StoreError": OSError,
    "UnknownNameError": KeyError,
}

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def make(kind: type[FaError]) -> FaError:
    return kind(
        "block_m",
        expected=Text("a whole number", "整数"),
        got="'{x}'",
        hint=Text("write 64", "写 64"),
    )


def test_the_list_of_errors_is_complete() -> None:
    assert {kind.__name__ for kind in KINDS} == set(EXPECTED_BUILTIN)


@every_kind
def test_each_is_the_builtin_a_caller_expects(kind: type[FaError]) -> None:
    assert issubclass(kind, EXPECTED_BUILTIN[kind.__name__])
    assert not hasattr(builtins, kind.__name__)
    with pytest.raises(EXPECTED_BUILTIN[kind.__name__]):
        raise make(kind)


@every_kind
def test_the_sentence_in_both_languages(kind: type[FaError]) -> None:
    error = make(kind)
    with using("en"):
        assert str(error) == "block_m: expected a whole number, got '{x}'. Try: write 64."
    with using("zh"):
        assert str(error) == "block_m：应为整数，实际是 '{x}'。可以试试：写 64。"


@every_kind
def test_without_a_hint_nothing_is_promised(kind: type[FaError]) -> None:
    error = kind("q", expected="3 axes", got="2")
    with using("en"):
        assert str(error) == "q: expected 3 axes, got 2."
    with using("zh"):  # Latin letters and digits stand apart from Chinese
        assert str(error) == "q：应为 3 axes，实际是 2。"


@every_kind
@pytest.mark.parametrize(
    "remake", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_copies_say_the_same(kind: type[FaError], remake) -> None:  # type: ignore[no-untyped-def]
    error = make(kind)
    again = remake(error)
    assert type(again) is kind
    assert (again.name, again.expected, again.got, again.hint) == (
        error.name,
        error.expected,
        error.got,
        error.hint,
    )
    with using("zh"):
        assert str(again) == str(error)


def test_a_missing_name_is_not_shown_as_a_quoted_key() -> None:
    error = UnknownNameError("gpu", expected="a name", got="'x'")
    with using("en"):
        assert str(error) == "gpu: expected a name, got 'x'."
