"""Edits that make the Hopper forward write down when things happen: stamps of its multiprocessor's clock.

One thread of each role stores (event, clock) behind the last one, in a region of its own in global
memory, until the region is full. Nothing is computed otherwise than before. What is changed besides:
the producer waits until a copy has arrived before it looks for the next empty slot.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..measured.timeline import CONSUMER, PRODUCER
from .editing import Edit

#: bytes of one role of one program; a power of two, and so is where it begins
REGION = 1 << 14
#: what a consumer stamps before its steps of a tile of rows
ROWS = "rows"
EVENTS: Mapping[str, int] = {
    name: number for number, name in enumerate((ROWS, *CONSUMER, *PRODUCER), 1)
}

_FUNCTIONS = f'''

@gluon.constexpr_function
def stamp_text(event):
    """PTX: (event, clock) to where $1 points; the next place, or 0 after the last one and from then on."""
    return (
        "{{ .reg .pred on; .reg .b32 what, now; .reg .b64 next, past; setp.ne.u64 on, $1, 0; "
        f"mov.u32 now, %clock; mov.u32 what, {{event}}; @on st.global.v2.b32 [$1], {{{{what, now}}}}; "
        "add.u64 next, $1, 8; and.b64 past, next, {REGION - 1}; setp.ne.and.u64 on, past, 0, on; "
        "selp.b64 $0, next, 0, on; }}"
    )


@gluon.jit
def stamp(at, EVENT: gl.constexpr):
    """One event, now; gives the place of the next."""
    TEXT: gl.constexpr = stamp_text(EVENT)
    return gl.inline_asm_elementwise(TEXT, "=l,l", [at], dtype=gl.int64, is_pure=False, pack=1)


@gluon.jit
def first_stamp(stamps_ptr, ROLE: gl.constexpr, ROLES: gl.constexpr, WARPS: gl.constexpr):
    """Where this role begins, in thread 0; 0 in the others."""
    lane = gl.arange(0, 32 * WARPS, layout=gl.BlockedLayout([1], [32], [WARPS], [0]))
    region = gl.cast(gl.program_id(0) * ROLES + ROLE, gl.int64) * {REGION}
    start = gl.cast(stamps_ptr, gl.int64) + region
    return gl.where(lane == 0, start, 0)
'''


def _after(file: str, old: str, event: str, indent: str = "    ") -> Edit:
    """The event is stamped right after the text."""
    return Edit.of_text(file, old, f"{old}{indent}at = stamp(at, {EVENTS[event]})\n")


def _before(file: str, old: str, event: str, indent: str = "    ") -> Edit:
    return Edit.of_text(file, old, f"{indent}at = stamp(at, {EVENTS[event]})\n{old}")


_STEPS, _CONSUMER, _PRODUCER = "forward_steps", "forward_consumer", "forward_producer"
_IMPORTS = "from .protocol import "
_VALUES = (
    "        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))\n"
    "    give_back_values(shared, slot, plan)\n    acc ="
)

STAMPED: tuple[Edit, ...] = (
    # where stamps go
    Edit("protocol", r"\Z", _FUNCTIONS),
    Edit.of_text("schedule", "    counter_ptr: Any  #", "    stamps_ptr: Any\n    counter_ptr: Any  #"),
    Edit.of_text("forward", "row_tiles, total, section, unit,\n    # constexprs",
                 "row_tiles, total, section, unit, stamps_ptr,\n    # constexprs"),
    Edit.of_text("forward", "section, unit, counter_ptr)", "section, unit, stamps_ptr, counter_ptr)"),
    # a consumer
    Edit.of_text(_STEPS, _IMPORTS, _IMPORTS + "stamp, "),
    Edit.of_text(_STEPS, "def step(\n    turn,", "def step(\n    at, turn,"),
    Edit.of_text(_STEPS, "    p16 = factor(pairs, shared, plan)\n    take_turn(GROUP, plan.pingpong)\n",
                 f"    at = stamp(at, {EVENTS['begun']})\n    p16 = factor(pairs, shared, plan)\n"
                 f"    take_turn(GROUP, plan.pingpong)\n    at = stamp(at, {EVENTS['turn']})\n"),
    _after(_STEPS, "        pass_turn(GROUP, plan.groups, plan.pingpong)\n", "issued", "        "),
    _before(_STEPS, "    # step: mask\n    if MASKED", "scores"),
    _after(_STEPS, "    if plan.pin:\n        l_i = pin(l_i)\n", "exponentials"),
    _after(_STEPS, "    mbarrier.wait(shared.full.index(next_slot), next_phase)\n", "filled"),
    Edit.of_text(_STEPS, _VALUES, _VALUES.replace(
        "    give_back", f"    at = stamp(at, {EVENTS['values']})\n    give_back")),
    Edit.of_text(_STEPS, "return pairs_of(p, shared.v.dtype), acc,", "return at, pairs_of(p, shared.v.dtype), acc,"),
    Edit.of_text(_CONSUMER, _IMPORTS, _IMPORTS + "first_stamp, stamp, "),
    Edit(_CONSUMER, r"pairs, acc, m_i, l_i, slot, phase = step\((\s+)turn,",
         r"at, pairs, acc, m_i, l_i, slot, phase = step(\1at, turn,"),
    Edit.of_text(_CONSUMER, "    # step: load_q\n    held =",
                 "    at = first_stamp(work.stamps_ptr, GROUP, plan.groups + 1, 4)\n    # step: load_q\n    held ="),
    _after(_CONSUMER, "    while n > 0:\n", ROWS, "        "),
    # the producer
    Edit.of_text(_PRODUCER, _IMPORTS, _IMPORTS + "first_stamp, stamp, "),
    Edit.of_text(_PRODUCER, "def load_kv(k_desc", "def load_kv(at, k_desc"),
    _after(_PRODUCER, "    mbarrier.wait(shared.empty.index(slot), phase ^ 1)\n", "empty"),
    Edit.of_text(_PRODUCER, "    return advance(slot, phase, plan.stages)\n",
                 f"    at = stamp(at, {EVENTS['asked']})\n    mbarrier.wait(full, phase)\n"
                 f"    at = stamp(at, {EVENTS['arrived']})\n"
                 "    slot, phase = advance(slot, phase, plan.stages)\n    return at, slot, phase\n"),
    Edit.of_text(_PRODUCER, "slot, phase = load_kv(k_desc", "at, slot, phase = load_kv(at, k_desc"),
    Edit.of_text(_PRODUCER, "    load_kv(k_desc", "    load_kv(at, k_desc"),
    Edit.of_text(_PRODUCER, "    slot = gl.to_tensor(0)\n",
                 "    at = first_stamp(work.stamps_ptr, plan.groups, plan.groups + 1, 1)\n"
                 "    slot = gl.to_tensor(0)\n"),
)  # fmt: skip
