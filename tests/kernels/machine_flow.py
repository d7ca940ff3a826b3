"""Whether machine code sets what its products read, along every path: an assembler can be wrong too.

The tensor cores find tiles in shared memory by descriptors in uniform registers. ptxas of CUDA 12.8
moved a descriptor that two loops share into the first of them, and left it unset for those who skip
that loop: scores of anywhere, now and then an illegal address. No test of values on a CPU can see it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LINE = re.compile(r"\s+/\*([0-9a-f]+)\*/\s+(.*?);(.*)")
_GUARD = re.compile(r"^@!?U?P\w+\s+")
_PRODUCT = re.compile(r"HGMMA\.\S+\s+R\d+, (R\d+, )?gdesc\[UR(\d+)\]")
_SETS = re.compile(r"\S+\s+(?:U?P(?:\d+|T), )*UR(\d+)\b")
#: what names a uniform register first and reads it
_READERS = ("HGMMA", "SYNCS", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UISETP", "UPLOP3")


@dataclass
class Block:
    """Instructions without a jump between them."""

    lines: list[tuple[str, str]] = field(default_factory=list)  # address, text
    after: list[int] = field(default_factory=list)


def unset_descriptors(code: str) -> list[str]:
    """Products whose descriptor some path from the start of the kernel leaves unset.

    Args:
        code: what `nvdisasm -c` prints.
    """
    blocks = linked(code)
    before: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for other in block.after:
            before[other].append(number)
    every = set(range(64))
    known = [set(every) for _ in blocks]  # set at the end of a block, on every path
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(blocks):
            found = _at_start(number, before, known, every)
            for _, text in block.lines:
                found |= _set_by(text)
            if found != known[number]:
                known[number], changed = found, True
    return [
        line
        for number, block in enumerate(blocks)
        for line in _unset(block, _at_start(number, before, known, every))
    ]


def _at_start(
    number: int, before: list[list[int]], known: list[set[int]], every: set[int]
) -> set[int]:
    if number == 0:
        return set()
    ways = [known[other] for other in before[number]]
    return set.intersection(*ways) if ways else set(every)


def _unset(block: Block, found: set[int]) -> list[str]:
    wrong = []
    for address, text in block.lines:
        lacking = _read_by(text) - found
        if lacking:
            wrong.append(f"{address}: {text} reads UR{min(lacking)}")
        found |= _set_by(text)
    return wrong


def _set_by(text: str) -> set[int]:
    """Registers that an instruction sets; one under a predicate counts, as its twin often follows."""
    text = _GUARD.sub("", text)
    name = text.split()[0]
    found = _SETS.match(text)
    if found is None or name.split(".")[0] in _READERS:
        return set()
    first = int(found[1])
    width = 4 if ".128" in name else 2 if ".64" in name or "WIDE" in name else 1
    return set(range(first, first + width))


def _read_by(text: str) -> set[int]:
    """The descriptors of a product: two, or one where the left factor is in registers."""
    found = _PRODUCT.search(text)
    if found is None:
        return set()
    first = int(found[2])
    return set(range(first + 2 if found[1] else first, first + 4))


def linked(code: str) -> list[Block]:
    blocks, labels = [Block()], {}
    for line in code.splitlines():
        found = _LINE.match(line)
        if line.startswith(".L_x"):
            blocks.append(Block())
            labels[line.strip().rstrip(":")] = len(blocks) - 1
        elif found:
            blocks[-1].lines.append((found[1], f"{found[2].strip()} {found[3].strip()}".strip()))
            if _operation(found[2]) in ("BRA", "BRX", "JMP", "EXIT", "RET"):
                blocks.append(Block())
    for number, block in enumerate(blocks):
        text = block.lines[-1][1] if block.lines else ""
        operation = _operation(text)
        jumps = operation in ("BRA", "BRX", "JMP")
        if jumps:
            block.after += [labels[x] for x in re.findall(r"\.L_x_\d+", text) if x in labels]
        always = operation in ("BRX", "JMP", "BRA", "EXIT", "RET") and not _conditional(text)
        if number + 1 < len(blocks) and not always:
            block.after.append(number + 1)
    return blocks


def _operation(text: str) -> str:
    rest = _GUARD.sub("", text.strip())
    return rest.split()[0].split(".")[0] if rest else ""


def _conditional(text: str) -> bool:
    return bool(_GUARD.match(text) or re.search(r"\bBRA(?:\.\w+)* !?U?P\d", text))
