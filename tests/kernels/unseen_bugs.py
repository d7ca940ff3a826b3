"""Sixty bugs for the attention kernels, written without sight of any test.

BUGS: (name, file_stem under fa_toolkit/kernels, old, new); `old` occurs exactly once in that file.
The comment above each is the smallest legal call that shows it. "tile a x b" is
TileShape(a, b), BLOCK_M by BLOCK_N; where none is named, 64 x 64 of the interpreter is meant.
`forward`, `backward`, `forward_varlen`, `backward_varlen`, `decode` are the launchers flash_*.
"""

BUGS = [
    # ---------------------------------------------------------------- forward, tiles, call (15)
    # forward: q [1,1,40,16], k [1,1,8,16], window=(-1, 100): every row must see keys that it now loses
    (
        "window_clamped_to_keys_only",
        "call",
        "everything = p.len_q + p.len_k ",
        "everything = p.len_k ",
    ),
    # forward: q [1,1,2,16], k [1,1,64,16], causal: row 0 sees key 63 (or Nk=16 with tile 16 x 16)
    (
        "whole_tiles_end_one_key_late",
        "tiles",
        "tl.minimum(start + shift + after + 1, length)",
        "tl.minimum(start + shift + after + 2, length)",
    ),
    # forward: Nq = Nk = 18, window=(16, -1), tile 16 x 16: row 17 sees key 0
    (
        "whole_tiles_begin_one_row_early",
        "tiles",
        "tl.maximum(stop - 1 + shift - before, 0)",
        "tl.maximum(stop - 2 + shift - before, 0)",
    ),
    # forward: Nq = Nk = 17, causal, tile 16 x 16: row 16 loses key 16
    (
        "last_tile_lost_at_edge",
        "tiles",
        "high = tl.minimum(stop + shift + after, length)",
        "high = tl.minimum(stop - 1 + shift + after, length)",
    ),
    # forward: Nq = Nk = 1, D=16, softcap=1, q = -k = 1s: s / cap = -4, outside of the polynomial
    (
        "tanh_polynomial_for_all_negatives",
        "tiles",
        "return tl.where(tl.abs(x) < 0.625, small,",
        "return tl.where(x < 0.625, small,",
    ),
    # forward: B=2, H=1, Nq=Nk=16, dropout_p=0.5: batch 1 drops what batch 0 drops
    (
        "dropout_same_for_every_batch",
        "tiles",
        "head, batch = h.to(tl.uint32), b.to(tl.uint32)",
        "head, batch = h.to(tl.uint32), h.to(tl.uint32)",
    ),
    # forward: k a view with stride(2) = 2**26 (torch.empty, untouched pages), Nk=40: 40 * 2**26 > 2**31
    # (k's streaming base is 64 bit, so the rows of one tile must pass 2**31 by themselves)
    (
        "row_offset_in_32_bits",
        "tiles",
        "base_ptr + rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col",
        "base_ptr + rows[:, None] * stride_row + cols[None, :] * stride_col",
    ),
    # forward: B=H=1, Nq=Nk=16, dropout_p=0.5: rows are renormalised by what was kept
    (
        "sum_after_dropout",
        "flash_forward",
        "    l_i = l_i * alpha + tl.sum(p, axis=1)\n"
        "    if keep is not None:\n"
        "        p = tl.where(keep, p, 0.0)\n",
        "    if keep is not None:\n"
        "        p = tl.where(keep, p, 0.0)\n"
        "    l_i = l_i * alpha + tl.sum(p, axis=1)\n",
    ),
    # forward: Nq = Nk = 2, softcap=1: the argument of tanh is 1.44 times too large
    (
        "softcap_argument_in_base_two",
        "flash_forward",
        "s = tanh(s * (scale / softcap))",
        "s = tanh(s * (scale * LOG2_E / softcap))",
    ),
    # forward: D=16, Dv=32, Nq=Nk=48, window=(4, 0), tile 16 x 16: rows 32.. begin at key 16
    (
        "window_moves_v_by_stride_of_k",
        "flash_forward",
        "v_ptr += low.to(tl.int64) * stride_vn",
        "v_ptr += low.to(tl.int64) * stride_kn",
    ),
    # forward: Nq=Nk=1, D=16, Dv=32: columns 16..31 of o stay unwritten
    (
        "value_width_of_keys",
        "flash_forward",
        "offs_d < HEAD_DIM, offs_dv < HEAD_DIM_V",
        "offs_d < HEAD_DIM, offs_dv < HEAD_DIM",
    ),
    # forward: q [1,1,1,16], k [1,1,1024,16], dropout_p=0.5, tile=None: nothing is dropped
    (
        "split_path_forgets_dropout",
        "flash_forward",
        "split = choose_split(call.problem, q.device, dropout=call.dropout_p > 0)",
        "split = choose_split(call.problem, q.device)",
    ),
    # forward: q = [B,N,H,D].transpose(1, 2) with H=2, N=2, D=16 and Dv=32 (or 8): o of width D
    (
        "output_beside_heads_of_query_width",
        "call",
        "return torch.empty(b, n, h, width, dtype",
        "return torch.empty(b, n, h, d, dtype",
    ),
    # forward then backward: Nq=8, Nk=16, dropout_p=0.5: forward drops by position, backward by row
    (
        "dropout_by_position",
        "flash_forward",
        "keep = kept(seed, b, h, offs_m[:, None], cols[None, :], dropout_threshold)",
        "keep = kept(seed, b, h, (offs_m + diagonal)[:, None], cols[None, :], dropout_threshold)",
    ),
    # forward: q = [1,1,16,N].transpose(2, 3), or q[..., ::2]: its last axis is not dense
    (
        "query_columns_taken_as_dense",
        "flash_forward",
        "q_ptrs = tile_ptrs(q_ptr, offs_m, offs_d, stride_qn, stride_qd)",
        "q_ptrs = tile_ptrs(q_ptr, offs_m, offs_d, stride_qn, 1)",
    ),
    # ---------------------------------------------------------------- backward (18)
    # backward: B=1, H=2, Nq=Nk=2, dlse = torch.ones(1, 1, 1).expand(1, 2, 2), or a slice of a larger one
    (
        "dlse_found_by_strides_of_delta",
        "backward_delta",
        "dlse_ptr += b * stride_gb + h * stride_gh",
        "dlse_ptr += b * stride_sb + h * stride_sh",
    ),
    # backward: Nq=Nk=1, do = torch.ones(1).expand_as(o), as o.sum().backward() makes it
    (
        "do_columns_of_o",
        "backward_delta",
        "tile_ptrs(do_ptr, offs_m, offs_dv, stride_don, stride_dod)",
        "tile_ptrs(do_ptr, offs_m, offs_dv, stride_don, stride_od)",
    ),
    # backward: float16, Nq=1, Nk=2, v = 300 and 310, do = 300: o * do passes 65504
    (
        "delta_product_in_half",
        "backward_delta",
        "tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)",
        "tl.sum((o * do).to(tl.float32), axis=1)",
    ),
    # backward: Hq=4, Hkv=2, Nq=Nk=2: key head 0 takes query heads 0 and 2
    (
        "group_members_interleaved",
        "backward_dkdv",
        "h = h_kv * group + member",
        "h = h_kv + member * heads_kv",
    ),
    # backward: D=16, Dv=32, Nq=Nk=17, causal, tile 16 x 16: keys 16.. start at row 16
    (
        "first_do_tile_by_stride_of_q",
        "backward_dkdv",
        "h * stride_doh + low.to(tl.int64) * stride_don",
        "h * stride_doh + low.to(tl.int64) * stride_qn",
    ),
    # backward: Nq=Nk=16, dropout_p=0.5: dq
    (
        "dq_without_keep_scale",
        "backward_dq",
        "dp = tl.where(keep, dp * keep_scale, 0.0)",
        "dp = tl.where(keep, dp, 0.0)",
    ),
    # backward: q [1,1,4,16], k [1,1,20,16], causal, tile 16 x 16: dk, dv (any causal Nq != Nk)
    (
        "rows_of_keys_shifted_the_wrong_way",
        "backward_dkdv",
        "start_n, stop_n, -diagonal, right, left",
        "start_n, stop_n, diagonal, right, left",
    ),
    # backward: Nq=1, Nk=2, softcap=1, |scale * q k| about 1 and more (small scores hide it)
    (
        "slope_of_softcap_before_tanh",
        "tiles",
        "        s = tanh(s)\n        slope = 1.0 - s * s\n",
        "        slope = 1.0 - s * s\n        s = tanh(s)\n",
    ),
    # backward: Nq=1, Nk=2, softcap=5: dq is divided by the cap
    (
        "dq_scaled_as_scores",
        "backward_dq",
        "(dq * scale).to(dq_ptr.dtype.element_ty)",
        "(dq * (score_scale / LOG2_E)).to(dq_ptr.dtype.element_ty)",
    ),
    # backward: Nq=1, Nk=2, D=16, Dv=32: row 1 of dv lands inside row 0
    (
        "dv_stored_by_rows_of_dk",
        "backward_dkdv",
        "dv_ptrs = tile_ptrs(dv_ptr, offs_n, offs_dv, stride_dvn, stride_dvd)",
        "dv_ptrs = tile_ptrs(dv_ptr, offs_n, offs_dv, stride_dkn, stride_dvd)",
    ),
    # backward: Hq=2, Hkv=1, Nq=1, Nk=2: dk
    (
        "delta_of_key_head",
        "backward_dkdv",
        "delta_tile = delta_ptr + b * stride_sb + h * stride_sh",
        "delta_tile = delta_ptr + b * stride_sb + h_kv * stride_sh",
    ),
    # backward: Nq=1, Nk=2, v = [1,1,16,2].transpose(2, 3), k dense: dq
    (
        "dq_value_columns_of_k",
        "backward_dq",
        "v_ptrs = tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)",
        "v_ptrs = tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_kd)",
    ),
    # backward: Nq=1, Nk=1: reads v past its end; dq is nan where v is a slice followed by nan
    (
        "dq_values_past_the_end",
        "backward_dq",
        "mask_k, mask_v = mask_k & mask_n[:, None], mask_v & mask_n[:, None]",
        "mask_k, mask_v = mask_k & mask_n[:, None], mask_v",
    ),
    # backward: Nq=Nk=16, dropout_p=0.5: dk (the term of Delta must not be dropped)
    (
        "ds_from_dropped_p",
        "backward_dkdv",
        "ds = p * (dp - delta[None, :])",
        "ds = dropped * (dp - delta[None, :])",
    ),
    # backward: Hq=2, Hkv=1, Nq=Nk=16, dropout_p=0.5: dk, dv
    (
        "dropout_of_key_head",
        "backward_dkdv",
        "keep = kept(seed, b, h, rows[None, :]",
        "keep = kept(seed, b, h_kv, rows[None, :]",
    ),
    # backward: Nq=Nk=1, needs_dkdv=False (k and v frozen): dq is None
    (
        "dq_only_with_dkdv",
        "flash_backward",
        "            if self.dq is not None:\n",
        "            if self.dq is not None and self.dkdv is not None:\n",
    ),
    # backward: Nq=Nk=32, tile 32 x 16: the keys 16.. get no program (16 x 32: programs past the batch)
    (
        "dkdv_grid_by_rows",
        "backward_dkdv",
        "problem.heads_kv, problem.len_k, plan.tile.block_n, plan.side, plan.on_axes",
        "problem.heads_kv, problem.len_k, plan.tile.block_m, plan.side, plan.on_axes",
    ),
    # backward: Nq=Nk=48, window=(4, -1), not causal, tile 16 x 16: dq of rows 32..
    (
        "dq_window_start_only_with_both_sides",
        "backward_dq",
        "    if HAS_LEFT:\n        k_ptr += low",
        "    if HAS_LEFT and HAS_RIGHT:\n        k_ptr += low",
    ),
    # ---------------------------------------------------------------- packed sequences (9)
    # forward_varlen: 3 tokens, cu = [0, 2]: o and lse of token 2 stay unwritten (0 and -inf wanted)
    (
        "tokens_of_nobody_never_found",
        "tiles",
        "above = b + sequences + 1",
        "above = b + sequences",
    ),
    # forward_varlen: 3 tokens on both sides, cu_q = cu_k = [0, 2]: token 2 attends key 2
    (
        "tokens_of_nobody_attend",
        "flash_forward",
        "len_k = tl.where((b < sequences) & (pid_m * BLOCK_M < len_q), len_k, 0)",
        "len_k = tl.where(pid_m * BLOCK_M < len_q, len_k, 0)",
    ),
    # forward_varlen: 3 tokens, cu = [0, 2], sink = [0.]: lse of token 2 is 0 instead of -inf
    (
        "tokens_of_nobody_see_the_sink",
        "flash_forward",
        'sink = tl.load(sink_ptr + h, mask=b < sequences, other=-float("inf"))',
        "sink = tl.load(sink_ptr + h)",
    ),
    # backward_varlen: cu_q = [0, 1, 2], cu_k = [0, 2, 4]: dk of sequence 1
    (
        "delta_of_a_sequence_at_its_keys",
        "backward_dkdv",
        "delta_ptr += start_q.to(tl.int64) * stride_sn",
        "delta_ptr += start_k.to(tl.int64) * stride_sn",
    ),
    # backward_varlen: cu_q = [0, 1, 2], cu_k = [0, 2, 4]: dq
    (
        "dq_keys_by_offsets_of_queries",
        "backward_dq",
        "sequence_span(cu_k_ptr, b, sequences, len_k)",
        "sequence_span(cu_q_ptr, b, sequences, len_k)",
    ),
    # forward_varlen: Hq=Hkv=3, 64 tokens, cu = [0, 64] (a whole number of tiles): head 2 has no program
    # (backward_varlen: already with one head, since dq counts its tiles down)
    (
        "packed_grid_rounds_up_instead_of_one_more",
        "call",
        "return grid_of(length // block + self.sequences + 1, heads, 1, side, on_axes)",
        "return grid_of(-(-length // block) + self.sequences, heads, 1, side, on_axes)",
    ),
    # backward_varlen: 3 tokens, cu = [0, 2], sink = [0.], dlse = 1s: dsink counts token 2
    (
        "dsink_counts_dead_rows",
        "flash_backward",
        "return -(p_sink * delta).masked_fill(dead, 0.0).sum((0, 2))",
        "return -(p_sink * delta).sum((0, 2))",
    ),
    # forward_varlen: D=16, Dv=32, cu = [0, 1, 2]: o of sequence 1
    (
        "sequence_of_v_by_stride_of_k",
        "flash_forward",
        "v_ptr += start_k.to(tl.int64) * stride_vn",
        "v_ptr += start_k.to(tl.int64) * stride_kn",
    ),
    # backward_varlen: cu = [0, 1, 2], v = qkv[:, 2] of one [T, 3, H, D]: dv of sequence 1
    (
        "sequence_of_dv_by_stride_of_v",
        "backward_dkdv",
        "dv_ptr += start_k.to(tl.int64) * stride_dvn",
        "dv_ptr += start_k.to(tl.int64) * stride_vn",
    ),
    # ---------------------------------------------------------------- decode, merge, launchers (18)
    # decode: Nq=1, 2 keys, sink = [0.], num_splits=2 (an empty split counts too)
    (
        "sink_in_every_split",
        "flash_decode",
        "mask=mask_m & (split == 0), other",
        "mask=mask_m, other",
    ),
    # decode: Hq=2, Hkv=1, Nq=1, sink = torch.tensor([0., 9., 1., 9.])[::2], or one value expanded
    (
        "sink_taken_as_dense",
        "flash_decode",
        "sink_ptr + heads * stride_sh",
        "sink_ptr + heads",
    ),
    # decode: Hq=3, Hkv=1, Nq=6, window=(4, -1), 32 keys, tile 16 x 16: row 16 begins inside query 5
    (
        "first_query_of_a_cut_group",
        "decode_tiles",
        "first, last = start_m // group, (",
        "first, last = tl.cdiv(start_m, group), (",
    ),
    # decode: Nq=2, causal, 4 keys: query 0 sees key 3
    (
        "right_bound_dropped_one_query_early",
        "decode_call",
        "right < problem.len_q - 1,",
        "right < problem.len_q - 2,",
    ),
    # decode: paged, page 1, one column, seq_lens = [1]: reads the table past its end
    (
        "page_looked_up_past_the_split",
        "decode_tiles",
        "block = tl.load(table_ptr + entries, mask=cols < stop, other=0)",
        "block = tl.load(table_ptr + entries)",
    ),
    # decode: paged, page 1, seq_lens = [2], block_table = torch.tensor([[1, 9, 0, 9]])[:, ::2]
    (
        "page_columns_taken_as_dense",
        "decode_tiles",
        "entries = (cols // PAGE_SIZE).to(tl.int64) * stride_tn",
        "entries = (cols // PAGE_SIZE).to(tl.int64)",
    ),
    # decode: Nq=1, 17 keys, num_splits=1, tile 16 x 16: key 16 is lost (or 33 keys in 2 splits)
    (
        "splits_share_whole_tiles_only",
        "flash_decode",
        "span = tl.cdiv(tl.cdiv(tl.maximum(high - low, 0), BLOCK_N), num_splits) * BLOCK_N",
        "span = tl.cdiv(tl.maximum(high - low, 0) // BLOCK_N, num_splits) * BLOCK_N",
    ),
    # decode: Nq=2, causal, seq_lens = [2] in a cache of 4: query 0 sees key 1
    (
        "positions_from_the_capacity",
        "flash_decode",
        "partners_seen(queries, len_k - len_q,",
        "partners_seen(queries, capacity - len_q,",
    ),
    # decode: Nq=1, seq_lens = [0], num_splits=2: nan instead of o = 0, lse = -inf
    (
        "merge_of_nothing_without_pivot",
        "merge_parts",
        'pivot = tl.where(m_new == -float("inf"), 0.0, m_new)',
        "pivot = m_new",
    ),
    # decode: Nq=1, 65 tiles of keys, num_splits=65, the last key's score the highest
    (
        "merge_keeps_old_scale_past_64_parts",
        "merge_parts",
        "acc = acc * alpha + tl.sum(p[:, None] * o, axis=0)",
        "acc = acc + tl.sum(p[:, None] * o, axis=0)",
    ),
    # decode: Nq=1, num_splits=3 (no power of two): a fourth part of lse 0 is counted
    (
        "merge_counts_parts_past_the_last",
        "merge_parts",
        'mask=mask_p, other=-float("inf")) * LOG2_E',
        "mask=mask_p, other=0.0) * LOG2_E",
    ),
    # forward: q [1,2,2,16], k [1,1,1024,16], tile=None (split path): lse of heads and rows changed round
    (
        "merged_lse_taken_as_dense",
        "merge_parts",
        "lse_ptr += b * stride_lb + query * stride_ln + head * stride_lh",
        "lse_ptr += row",
    ),
    # forward: q [1,1,1,16], k [1,1,1024,16], sink = [0.], tile=None (split path)
    (
        "split_path_forgets_the_sink",
        "flash_decode",
        "softcap=call.softcap, scale=call.scale, sink=call.sink,",
        "softcap=call.softcap, scale=call.scale,",
    ),
    # decode: Nq=1, 2 keys, scale=0.0: uniform weights wanted, 1 / sqrt(D) taken
    (
        "scale_zero_is_the_default",
        "flash_decode",
        "1 / math.sqrt(problem.head_dim) if scale is None else float(scale)",
        "1 / math.sqrt(problem.head_dim) if not scale else float(scale)",
    ),
    # decode: Hq=17, Hkv=1, Nq=1, tile 16 x 16 (group * Nq > BLOCK_M): head 16 has no program
    (
        "decode_grid_forgets_the_group",
        "flash_decode",
        "row_tiles = triton.cdiv(packed_rows(problem), launch.tile.block_m)",
        "row_tiles = triton.cdiv(problem.len_q, launch.tile.block_m)",
    ),
    # decode: B=2, seq_lens = torch.tensor([1, 9, 2, 9], dtype=int32)[::2]
    (
        "lengths_taken_as_dense",
        "flash_decode",
        "tl.load(lens_ptr + b * stride_lens)",
        "tl.load(lens_ptr + b)",
    ),
    # decode: seq_lens = [1] in a cache of 2 whose v[1] is nan
    (
        "values_past_the_length_times_zero",
        "flash_decode",
        "v_ptrs, mask=mask_n[:, None] & mask_dv[None, :], other=0.0",
        "v_ptrs, mask=mask_dv[None, :], other=0.0",
    ),
    # decode: Nq=1, Dv=24 (no power of two), num_splits=2
    (
        "parts_read_by_padded_width",
        "merge_parts",
        "o_ptrs = tile_ptrs(o_parts_ptr, part_rows, offs_dv, HEAD_DIM_V, 1)",
        "o_ptrs = tile_ptrs(o_parts_ptr, part_rows, offs_dv, BLOCK_DV, 1)",
    ),
]
