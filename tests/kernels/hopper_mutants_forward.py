"""Mistakes planted in the Hopper forward.

`READ` were written while reading the kernel for what each rule of its protocol protects; `BLIND`
are what a tired author might write, drawn up without asking what the simulator looks at.
"""

from __future__ import annotations

from hopper_simulator_cases import Case, Edit, Mistake, planted, switches_of

#: sizes that between them have several tiles of rows for each program, edges, groups of heads, a
#: second call, rows without keys
LISTS = Case(130, 200, hq=4, hk=2, b=2, seed=1)
CASES = (
    Case(200, 333, True, calls=2),
    LISTS,
    Case(33, 7, True, hq=2, hk=2, seed=2),
    Case(300, 130, True, multiprocessors=1, seed=3),
    Case(140, 300, d=128, seed=4),
)
HELD = Case(200, 333, True, multiprocessors=1, switches=switches_of(q_regs=True, q_buffers=1))
EARLY = Case(200, 500, multiprocessors=1, seed=1, switches=switches_of(early_k=True, stages=2))
APART = Case(200, 333, True, multiprocessors=1, switches=switches_of(joined=False))
ALONE = Case(200, 333, True, multiprocessors=1,
             switches=switches_of(groups=1, pingpong=False, per_sm=1, q_regs=True, q_buffers=1))  # fmt: skip
#: fewer tiles of keys than slots: only Q's own barriers hold its producer back
SHORT = Case(300, 100, multiprocessors=1, switches=switches_of(q_regs=True, q_buffers=1))
HALVED = Case(200, 328, True, switches=switches_of(halved=True))
PLACES = Case(130, 70, hq=8, hk=2, multiprocessors=2, seed=4)
SNAKE = Case(330, 200, hq=2, hk=2, multiprocessors=4, switches=switches_of(schedule=1))

READ: dict[str, Mistake] = {
    "slot given back while its products read it": planted(
        "forward",
        "    if plan.overlap:\n        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))\n"
        "    give_back_values(shared, slot, plan)\n    acc =",
        "    give_back_values(shared, slot, plan)\n    if plan.overlap:\n"
        "        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))\n    acc =",
    ),
    "slot after the last rows given back early": planted(
        "forward",
        "    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))\n"
        "    give_back_values(shared, slot, plan)\n    pairs = pairs_of",
        "    give_back_values(shared, slot, plan)\n"
        "    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))\n    pairs = pairs_of",
    ),
    "keys given back before their product is done": planted(
        "forward",
        "        s = warpgroup_mma_wait(1, deps=(s,))\n        give_back_keys(shared, slot, plan)\n    else",
        "        give_back_keys(shared, slot, plan)\n        s = warpgroup_mma_wait(1, deps=(s,))\n    else",
        EARLY,
    ),
    "keys before the next rows given back early": planted(
        "forward",
        "    s = warpgroup_mma_wait(1, deps=(s,))\n    give_back_keys(shared, slot, plan)\n    give",
        "    give_back_keys(shared, slot, plan)\n    s = warpgroup_mma_wait(1, deps=(s,))\n    give",
        EARLY,
    ),
    "values over those that are read": planted(
        "forward",
        "        mbarrier.wait(shared.empty.index(plan.stages + slot), phase ^ 1, pred=has_v)\n",
        "        pass\n",
        EARLY,
    ),
    "values that the first slot does not have never given back": planted(
        "forward", "        give_back_values(shared, slot, plan)  # the first slot has none\n",
        "        pass\n", EARLY,
    ),
    "next slot not awaited": planted(
        "forward", "    mbarrier.wait(shared.full.index(next_slot), next_phase)\n", ""
    ),
    "slot of the next rows not awaited": planted(
        "forward",
        "    mbarrier.wait(shared.full.index(next_slot), next_phase, pred=more)\n",
        "",
    ),
    "producer does not wait for an empty slot": planted(
        "forward", "    mbarrier.wait(shared.empty.index(slot), phase ^ 1)\n", ""
    ),
    "parity never flips": planted(
        "protocol", "gl.where(wrap, phase ^ 1, phase)", "phase"
    ),
    "Q replaced while it is read": planted(
        "forward",
        "        mbarrier.wait(shared.q_empty.index(buffer + g), parity ^ 1)\n",
        "",
        Case(330, 300, multiprocessors=1),
    ),
    "parity of Q as if it had one buffer": planted(
        "forward", "turn // plan.q_buffers % 2)", "turn % 2)",
        Case(330, 300, multiprocessors=1, switches=switches_of(q_regs=False, q_buffers=2)),
    ),
    "Q in registers: buffer given back when the load is asked for": Mistake((
        Edit(
            "forward",
            "        q = q.load(left_layout(scores_layout(plan)))\n",
            "        q = q.load(left_layout(scores_layout(plan)))\n"
            "        mbarrier.arrive(shared.q_empty.index(buffer), count=1)\n",
        ),
        Edit("forward_steps", "    if plan.q_regs:\n        release(", "    if False:\n        release("),
    ), SHORT),
    "Q in registers: buffer given back while its product reads": planted(
        "forward",
        "    s = warpgroup_mma_wait(1, deps=(s,))\n    give_back_keys(shared, slot, plan)\n"
        "    give_back_queries(shared, turn + 1, GROUP, plan)\n",
        "    give_back_queries(shared, turn + 1, GROUP, plan)\n"
        "    s = warpgroup_mma_wait(1, deps=(s,))\n    give_back_keys(shared, slot, plan)\n",
        HELD,
    ),
    "Q in registers: first buffer never given back": planted(
        "forward",
        "    release(shared.empty.index(slot))\n    give_back_queries(shared, turn, GROUP, plan)\n",
        "    release(shared.empty.index(slot))\n",
        ALONE,
    ),
    "place told after the arrival that announces it": planted(
        "forward",
        "        mbarrier.expect(full, 0, pred=n == 0)\n",
        "        mbarrier.expect(full, 0, pred=n == 0)\n"
        "        tell(shared.place.index(at + 4), n, 1)\n",
        APART,
    ),
    "O overwritten while it is stored": planted(
        "forward", "        tma.store_wait(0)  # the O before has left its buffer\n", "",
        Case(330, 300, multiprocessors=1),
    ),
    "program ends before O is read": planted(
        "forward", "GROUP, plan)\n    tma.store_wait(0)\n", "GROUP, plan)\n"
    ),
    "no fence after O is stored": planted("forward", "    fence_async_shared()\n", ""),
    "one arrival too few": planted(
        "forward", "plan.parts, plan.groups)", "plan.parts, plan.groups + 1)"
    ),
    "one group speaks for all": planted(
        "forward", "plan.parts, plan.groups)", "plan.parts, 1)"
    ),
    "scores used before their wait": planted(
        "forward",
        "        pass_turn(GROUP, plan.groups, plan.pingpong)\n"
        "        s = warpgroup_mma_wait(1, deps=(s,))\n",
        "        pass_turn(GROUP, plan.groups, plan.pingpong)\n",
    ),
    "scores awaited one product too late": planted(
        "forward",
        "        pass_turn(GROUP, plan.groups, plan.pingpong)\n"
        "        s = warpgroup_mma_wait(1, deps=(s,))\n",
        "        pass_turn(GROUP, plan.groups, plan.pingpong)\n"
        "        s = warpgroup_mma_wait(2, deps=(s,))\n",
    ),
    "first turn not given": planted(
        "forward", "    if plan.groups - 1 == GROUP:", "    if plan.groups == GROUP:"
    ),
    "turn passed to oneself": planted("protocol", "(GROUP + 1) % GROUPS", "GROUP"),
    "named barrier of the compiler": planted(
        "protocol", "FIRST_BARRIER = gl.constexpr(8)", "FIRST_BARRIER = gl.constexpr(2)"
    ),
    "bytes of one tile for two": planted(
        "forward", "mbarrier.expect(full, 2 * K_BYTES", "mbarrier.expect(full, K_BYTES"
    ),
    "counter never put back": planted(
        "schedule", "(ticket == work.total - 1)", "(ticket == work.total)"
    ),
    "counter put back by the last but one": planted(
        "schedule", "(ticket == work.total - 1)", "(ticket == work.total - 2)"
    ),
    "no news that there are no more rows": planted(
        "forward", "gl.where(number < work.total, n, 0)", "n"
    ),
    "place of a turn overwritten while O needs it": planted(
        "configuration", "return self.q_buffers + 2", "return self.q_buffers + 1", PLACES
    ),
    "O where the next rows are": planted(
        "forward",
        "    b = place_of(shared, turn, 0, GROUP, plan)\n    h = place_of(shared, turn, 1, GROUP, plan)\n"
        "    row = place_of(shared, turn, 2, GROUP, plan)\n    tma",
        "    b = place_of(shared, turn + 1, 0, GROUP, plan)\n    h = place_of(shared, turn + 1, 1, GROUP, plan)\n"
        "    row = place_of(shared, turn + 1, 2, GROUP, plan)\n    tma",
    ),
    "tiles of keys of the rows before": planted(
        "forward",
        "        turn += 1\n        n = place_of(shared, turn, 4, GROUP, plan)\n",
        "        n = place_of(shared, turn, 4, GROUP, plan)\n        turn += 1\n",
    ),
    "Q of the next rows with the place of these": planted(
        "forward",
        "load_q(q_desc, shared, work, turn + 1, next_b, next_h, next_row, next_n, plan)",
        "load_q(q_desc, shared, work, turn + 1, b, h, row, next_n, plan)",
    ),
}  # fmt: skip

BLIND: dict[str, Mistake] = {
    "causal from the other corner": planted(
        "schedule", "work.len_q) + work.len_k - work.len_q", "work.len_q)"
    ),
    "tiles of keys rounded down": planted(
        "schedule", "(high + BLOCK_N - 1) // BLOCK_N", "high // BLOCK_N"
    ),
    "no tile of keys for rows that see none": planted(
        "schedule", "gl.maximum(last, 1)", "gl.maximum(last, 0)"
    ),
    "first tickets given twice": planted("schedule", ", axis=0) + programs", ", axis=0)"),
    "last section as wide as the others": planted(
        "schedule", "inside // wide", "inside // work.section",
        Case(130, 200, hq=5, hk=5, switches=switches_of(section_mb=0.15)),
    ),
    "heads of the second batch": planted("schedule", "bh % work.heads_q, rank", "bh, rank", LISTS),
    "snake with a gap": planted(
        "schedule", "gl.minimum(first + programs, work.total) - 1", "first + programs - 1", SNAKE
    ),
    "head of queries asked for keys": planted(
        "forward",
        "k_at = (b, h // work.group, (n - 1 - i) * plan.block_n)",
        "k_at = (b, h, (n - 1 - i) * plan.block_n)",
    ),
    "same rows for every group": planted(
        "forward", "row + g * plan.rows", "row"
    ),
    "values of this tile instead of the one before": planted(
        "forward",
        "[v_at[0], v_at[1], v_at[2], 0]",
        "[k_at[0], k_at[1], k_at[2], 0]",
    ),
    "diagonal off by one": planted(
        "forward", "diagonal = row + work.len_k", "diagonal = row + 1 + work.len_k"
    ),
    "same diagonal for every group": planted(
        "forward", "diagonal + g * plan.rows, 1)", "diagonal, 1)"
    ),
    "tiles far from the diagonal taken for near": planted(
        "softmax", "gl.maximum(diagonal - col, -s.shape[0])", "gl.maximum(diagonal - col, -1)",
        Case(300, 130, True, switches=switches_of(groups=3)),
    ),
    "one key too many": planted("softmax", "work.len_k - 1 - col", "work.len_k - col", LISTS),
    "one whole tile too many": planted(
        "forward", "gl.minimum(seen // plan.block_n", "gl.minimum(seen // plan.block_n + 1"
    ),
    "rows without keys not guarded": planted("softmax", "if MASKED else m_i", "if False else m_i"),
    "sum of nothing not guarded": planted("softmax", "gl.where(row == 0.0, 1.0, row)", "row"),
    "log-sum-exp in base 2": planted("softmax", "log2(row)) * LN_2", "log2(row))"),
    "sum not rescaled": planted("softmax", " * wide[:, None] + row_sums(p)", " + row_sums(p)"),
    "output not rescaled": planted(
        "forward",
        "    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, O_L), assert_trivial=True)[:, None]\n",
        "",
    ),
    "log-sum-exp past the last row": planted("forward", "mask=rows < work.len_q", "mask=rows <= work.len_q"),
    "log-sum-exp of the first batch": planted(
        "forward", "b * work.heads_q + h, gl.int64", "h, gl.int64", LISTS
    ),
    "tiles of rows rounded down": planted("forward", "row_tiles = -(-nq //", "row_tiles = (nq //"),
    "ragged keys forgotten": planted(
        "configuration", "causal or len_k % config.block_n != 0", "causal", LISTS
    ),
    "half a tile off taken for square": planted(
        "configuration", "(len_k - len_q) % config.block_n", "(len_k - len_q) % config.rows",
        Case(200, 264, True),
    ),
    "half of the first scores for every group": planted(
        "configuration", "self.rows * (group + 1)", "self.rows", HALVED
    ),
    "pairs of P the wrong way round": planted("pairs", "gl.join(low, high)", "gl.join(high, low)"),
    "tall tiles taken for square": planted(
        "configuration", "config.rows * config.groups == config.block_n", "True",
        Case(200, 328, True, switches=switches_of(groups=3)),
    ),
    "group of heads upside down": planted("forward", "hq // hk, row_tiles", "hk, row_tiles"),
    "scale in natural units": planted("forward", "scale * LOG2_E", "scale"),
}  # fmt: skip
