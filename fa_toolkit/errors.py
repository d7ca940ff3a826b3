"""Every error this package raises on purpose, each also the builtin a caller would expect.

An error says four things in one sentence: the name of the argument, what was expected, what came,
and what to try. It speaks the language in force when it is printed.
"""

from __future__ import annotations

from .language import Text, apart, current, say

_JOINED = {
    "en": ("{name}: expected {expected}, got {got}.", " Try: {hint}."),
    "zh": ("{name}：应为{expected}，实际是{got}。", "可以试试：{hint}。"),
}


class FaError(Exception):
    """Base of all errors of this package.

    Args:
        name: the argument or thing that is wrong, as the caller wrote it.
        expected: what would have been right.
        got: what came instead.
        hint: the next thing to try.
    """

    def __init__(
        self, name: str, *, expected: Text | str, got: Text | str, hint: Text | str = ""
    ) -> None:
        self.name, self.expected, self.got, self.hint = name, expected, got, hint
        super().__init__(name, expected, got, hint)

    def __str__(self) -> str:
        sentence, advice = _JOINED[current()]
        parts = say(self.expected), say(self.got)
        expected, got = map(apart, parts) if current() == "zh" else parts
        text = sentence.format(name=self.name, expected=expected, got=got)
        return text + (advice.format(hint=say(self.hint)) if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.name, self.expected, self.got, self.hint))


def _rebuild(
    kind: type[FaError], name: str, expected: Text | str, got: Text | str, hint: Text | str
) -> FaError:
    return kind(name, expected=expected, got=got, hint=hint)


class ArgumentError(FaError, ValueError):
    """A value outside what an argument allows."""


class ShapeError(FaError, ValueError):
    """A tensor whose shape does not fit the others."""


class DtypeError(FaError, TypeError):
    """A tensor or value of a type that is not supported here."""


class DeviceError(FaError, ValueError):
    """Tensors that do not live where they must."""


class UnknownNameError(FaError, KeyError):
    """A name (question, exercise, GPU) that does not exist; `hint` lists near ones."""

    __str__ = FaError.__str__


class BankError(FaError, ValueError):
    """A quiz file that does not say what it must: `name` is file, line and field."""


class OutOfBoundsError(FaError, IndexError):
    """A kernel touched memory outside its tensors."""


class StoreError(FaError, OSError):
    """The progress file or the study folder cannot be read or written."""


class BackendUnavailable(FaError, RuntimeError):  # noqa: N818  (public name of the design)
    """An implementation that cannot run here; never replaced silently by another."""
