"""Mistakes planted in the Hopper backward; `READ` and `BLIND` as in `hopper_mutants_forward`."""

from __future__ import annotations

from hopper_simulator_cases import Case, Mistake, planted, switches_of
from hopper_simulator_kernels import Edit

CASES = (
    Case(100, 140, True, hq=1),
    Case(60, 140, hq=4, hk=2, b=2, dlse=True, seed=1),
    Case(100, 7, True, hq=1, seed=2),
    Case(195, 200, True, seed=3),
)
LISTS = CASES[1]
#: 64 queries a step, a program for each tile of keys
GROUPED = Case(195, 200, True, seed=3, switches=switches_of(block_m=64, persistent=False))
IN_STEP = Case(100, 140, True, switches=switches_of(late=False))
DRAWN = Case(60, 300, True, hq=1, multiprocessors=1, switches=switches_of(persistent=True))
PREFETCHED = Case(100, 140, True, switches=switches_of(prefetch=True))

READ: dict[str, Mistake] = {
    "the other half of dS not awaited": planted(
        "backward",
        '        half_written("sync", link, 1 - GROUP, plan)\n    shared.ds',
        "        pass\n    shared.ds",
    ),
    "the other half of the last dS not awaited": planted(
        "backward",
        '        half_written("sync", before, 1 - GROUP, plan)\n        dq =',
        "        dq =",
    ),
    "halves in step: dS not awaited": planted(
        "backward",
        '        named_barrier("sync", FINAL_BARRIER, 256)  # both halves are written\n',
        "",
        IN_STEP,
    ),
    "dS said to be read before it is": Mistake((
        Edit("backward",
             '    if plan.late:\n        half_written("arrive", slot, GROUP, plan)\n    next', "    next"),
        Edit("backward",
             "    if not plan.late:\n        named",
             '    if plan.late:\n        half_written("arrive", slot, GROUP, plan)\n'
             "    if not plan.late:\n        named"),
    )),
    "nobody says that the slots of dS are free at first": planted(
        "backward", '        half_written("arrive", link, GROUP, plan)\n', "        pass\n"
    ),
    "one barrier for all slots of dS": planted(
        "backward", "(plan.stages + 1) + which", "(plan.stages + 1)"
    ),
    "K overwritten while the other group reads it": planted(
        "backward", '        named_barrier("sync", FINAL_BARRIER, 256)\n    dv_tile', "        pass\n    dv_tile",
        GROUPED,
    ),
    "dQ of no step before is added": planted("backward_sums", "    if place >= 0:", "    if place < 1 << 30:"),
    "share of dQ overwritten while it is added": planted(
        "backward", "    tma.store_wait(0)  # the share before has been read\n", ""
    ),
    "no fence after dS": planted(
        "backward", "    fence_async_shared()\n    if not plan.late", "    if not plan.late"
    ),
    "no fence after the share of dQ": planted("backward_sums", "    fence_async_shared()\n", ""),
    "no fence after dK and dV": planted(
        "backward",
        "    fence_async_shared()\n    tma.async_copy_shared_to_global(dk",
        "    tma.async_copy_shared_to_global(dk",
    ),
    "program ends before dK and dV are read": planted(
        "backward", "index(2), 4)\n    tma.store_wait(0)\n", "index(2), 4)\n"
    ),
    "Q given back while dK reads it": Mistake((
        Edit("backward", "    release(shared.q_empty.index(slot))\n", ""),
        Edit("backward", "    release(shared.do_empty.index(slot))\n",
             "    release(shared.do_empty.index(slot))\n    release(shared.q_empty.index(slot))\n"),
    ), GROUPED),
    "dO not awaited": planted(
        "backward", "    mbarrier.wait(shared.do_full.index(slot), phase)\n", ""
    ),
    "Q not awaited": planted(
        "backward", "        mbarrier.wait(shared.q_full.index(slot), phase)\n        turn", "        turn"
    ),
    "next Q not awaited": planted(
        "backward",
        "        mbarrier.wait(shared.q_full.index(next_slot), next_phase)\n",
        "",
        PREFETCHED,
    ),
    "K and V not awaited": planted("backward", "    mbarrier.wait(shared.kv_full, 0)\n", ""),
    "producer does not wait for Q": planted(
        "backward", "    mbarrier.wait(shared.q_empty.index(slot), phase ^ 1)\n", "", GROUPED
    ),
    "next K and V in the place of those that dQ reads": planted(
        "backward",
        "        mbarrier.wait(shared.kv_empty, turn % 2 ^ 1)\n        load_keys",
        "        load_keys",
        DRAWN,
    ),
    "dK in the place of dV before it is read": planted(
        "backward", "    if plan.persistent:\n        tma.store_wait(0)\n    dk_tile", "    dk_tile", DRAWN
    ),
    "no news that there are no more keys": planted(
        "backward", "        tell(shared.place.index(2), -1, 1)\n", "", DRAWN
    ),
    "keys drawn without a counter that is 0": planted(
        "backward_ends", "tl.store(counter_ptr", "tl.store(counter_ptr + 1", DRAWN
    ),
    "bytes of lse and Delta not expected": planted(
        "backward", "q_desc.block_type.nbytes + 8 * plan.block_m", "q_desc.block_type.nbytes"
    ),
    "one group gives Q back for both": planted(
        "backward", "q_empty = barriers(STAGES, 2)", "q_empty = barriers(STAGES, 1)"
    ),
    "dP awaited too late": planted(
        "backward", "dp = warpgroup_mma_wait(1, deps=(dp,))", "dp = warpgroup_mma_wait(2, deps=(dp,))"
    ),
    "dQ awaited too late": planted(
        "backward", "warpgroup_mma_wait(1, deps=(dv, p_left, dq))",
        "warpgroup_mma_wait(2, deps=(dv, p_left, dq))",
    ),
}  # fmt: skip

BLIND: dict[str, Mistake] = {
    "every head of a group reads the first": planted(
        "backward", "gl.where(last, h + 1, h)", "h", GROUPED
    ),
    "dQ of every head goes to the first": planted(
        "backward", "gl.where(ended, place + row, place)", "gl.where(ended, place + row - end, place)",
        GROUPED,
    ),
    "the next head begins at its first row": planted(
        "backward", "gl.where(ended, first * BLOCK_M, row)", "gl.where(ended, 0, row)", GROUPED
    ),
    "sums of the second batch": planted(
        "backward", "(b * work.heads_kv + h_kv) * work.group", "h_kv * work.group", LISTS
    ),
    "lse and Delta of the first batch": planted(
        "backward", "(b * work.heads_kv * work.group + h)", "h", LISTS
    ),
    "diagonal off by one": planted(
        "backward", "keys - (work.len_k - work.len_q) - row", "keys - (work.len_k - work.len_q) - row + 1"
    ),
    "tile on the diagonal taken for whole": planted(
        "backward", "cut = key + LAST > row", "cut = key > row"
    ),
    "first tile of queries left out": planted(
        "backward", "seen_by // plan.block_m,", "seen_by // plan.block_m + 1,"
    ),
    "causal from the other corner": planted(
        "backward", "key - (work.len_k - work.len_q)", "key", GROUPED
    ),
    "tiles of keys rounded down": planted(
        "backward", "-(-nk // PER_PROGRAM), -(-nq", "max(1, nk // PER_PROGRAM), -(-nq"
    ),
    "tiles of queries rounded down": planted(
        "backward", "-(-nk // PER_PROGRAM), -(-nq // m)", "-(-nk // PER_PROGRAM), max(1, nq // m)"
    ),
    "last section as wide as the others": planted(
        "backward", "inside // wide", "inside // work.section",
        Case(60, 300, hq=3, hk=3, multiprocessors=6, switches=switches_of(section=2)),
    ),
    "group of heads upside down": planted(
        "backward", "hk, hq // hk, key_tiles", "hk, hk, key_tiles", GROUPED
    ),
    "dK and dV of both groups in one place": planted(
        "backward", "at = [b, h_kv, key + GROUP * plan.kv_tile[0], 0]", "at = [b, h_kv, key, 0]"
    ),
    "dK for dV": planted(
        "backward", "to_global(dk_desc, at, dk_tile)", "to_global(dk_desc, at, dv_tile)", GROUPED
    ),
    "dK without the scale": planted("backward", "dk * work.scale, dv", "dk, dv"),
    "dQ without the scale": planted("backward", "(sums * scale)", "sums"),
    "dS without Delta": planted("backward", "(dp - delta[None, :])", "dp"),
    "gradient of lse with the wrong sign": planted("backward", "delta -=", "delta +=", LISTS),
    "rows without keys not guarded": planted(
        "backward", 'lse = tl.where(lse == -float("inf"), float("inf"), lse)', "lse = lse + 0", CASES[2]
    ),
    "both shares of dQ in one place": planted(
        "backward", "GROUP * plan.sums_tile[0]", "0"
    ),
    "registers of dQ in another order": planted(
        "backward", "(3, 0, 2, 4, 1, 5)", "(3, 0, 2, 4, 5, 1)"
    ),
    "own half of the keys twice": planted(
        "backward", "shared.k.index(g + nothing)", "shared.k.index(GROUP + nothing)"
    ),
}  # fmt: skip
