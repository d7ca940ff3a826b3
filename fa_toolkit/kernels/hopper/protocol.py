"""What the roles of a Hopper kernel say to each other: rings, turns, releases.

No mathematics here. A ring is an array of slots in shared memory, each with two barriers: `full`
is completed by the copy engine, `empty` by those who have read. A barrier is waited for by the
parity of its turn, which flips whenever the ring starts over.
"""

from __future__ import annotations

from .gluon import gl, gluon, mbarrier

#: hardware barriers 0 to 7 are left to the compiler
FIRST_BARRIER = gl.constexpr(8)
#: numbers that say where a tile of rows is: batch, head, first row, that row's last key, tiles of keys
PLACE = gl.constexpr(5)


@gluon.jit
def advance(slot, phase, SLOTS: gl.constexpr):
    """The next slot of a ring; the parity flips when the ring starts over."""
    slot += 1
    wrap = slot == SLOTS
    return gl.where(wrap, 0, slot), gl.where(wrap, phase ^ 1, phase)


@gluon.constexpr_function
def barrier_text(action, barrier, threads):
    """PTX of one named barrier; the move gives the inline assembly a result."""
    return f"bar.{action} {barrier}, {threads}; mov.b32 $0, $1;"


@gluon.jit
def named_barrier(ACTION: gl.constexpr, ID: gl.constexpr, THREADS: gl.constexpr):
    """bar.sync or bar.arrive on a barrier of our own, by all 128 threads of a warp group."""
    x = gl.full([128], 0, gl.int32, gl.BlockedLayout([1], [32], [4], [0]))
    TEXT: gl.constexpr = barrier_text(ACTION, ID, THREADS)
    gl.inline_asm_elementwise(TEXT, "=r,r", [x], dtype=gl.int32, is_pure=False, pack=1)


@gluon.jit
def take_turn(GROUP: gl.constexpr, PINGPONG: gl.constexpr):
    """Wait until the tensor cores are ours."""
    if PINGPONG:
        named_barrier("sync", FIRST_BARRIER + GROUP, 256)


@gluon.jit
def pass_turn(GROUP: gl.constexpr, GROUPS: gl.constexpr, PINGPONG: gl.constexpr):
    """Our products are issued: the next group may issue its own."""
    if PINGPONG:
        named_barrier("arrive", FIRST_BARRIER + (GROUP + 1) % GROUPS, 256)


@gluon.jit
def release(bar):
    """One arrival for the warp group, after its products have read the slot.

    Triton's own arrival is surrounded by barriers of the group. What reads a slot here are products
    alone, or loads of what products read then, and their wait is one for the whole group, so thread 0
    may speak for it: an "expect" of no bytes is that arrival without the barriers.
    """
    mbarrier.expect(bar, 0)


@gluon.jit
def unknown_zero(slot, FRESH: gl.constexpr):
    """0, but where FRESH only we know: what is addressed with it is addressed anew in every step.

    Else the assembler makes the descriptor of a tile that stays before the loop: there it runs out of
    registers for all of them, or two loops share one that it sets before the first loop alone.
    """
    nothing = gl.to_tensor(0)
    if FRESH:
        nothing = slot >> 8
    return nothing


@gluon.jit
def pin(x):
    """x, which is no less than 0, and was computed by now.

    The assembler moves exponentials past the wait for P V if nothing before it needs them, and then
    nothing overlaps. A store that is never done needs them.
    """
    return gl.inline_asm_elementwise(
        "{ .reg .pred bad; setp.lt.f32 bad, $1, 0f00000000; .reg .b32 at; mov.b32 at, 0;"
        " @bad st.volatile.shared.f32 [at], $1; mov.b32 $0, $1; }",
        "=f,f",
        [x],
        dtype=gl.float32,
        is_pure=False,
        pack=1,
    )


@gluon.jit
def tell(cell, value, WARPS: gl.constexpr):
    """Put one number into a cell of shared memory."""
    ONE: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    cell.store(gl.full([1], 0, gl.int32, ONE) + value)


@gluon.jit
def told(cell, WARPS: gl.constexpr):
    """The number in a cell of shared memory."""
    ONE: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    return gl.max(cell.load(ONE), axis=0)
