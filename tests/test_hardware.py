"""GPU records: sourced, plausible against the architecture, found by name, detected."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from types import SimpleNamespace

import pytest

from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.hardware import GPUS, KiB, MiB, detect, from_properties, gpu, known, ladder
from fa_toolkit.hardware.record import NUMERIC
from fa_toolkit.language import using

every_gpu = pytest.mark.parametrize("key", GPUS)

#: (largest shared memory of one block, of one SM) by architecture, in KiB.
SHARED = {
    "sm_75": (64, 64),
    "sm_80": (163, 164),
    "sm_86": (99, 100),
    "sm_89": (99, 100),
    "sm_90": (227, 228),
    "sm_100": (227, 228),
    "sm_120": (99, 100),
    "gfx942": (64, 64),
}
#: Dense fp16 FLOPs that one SM does in a clock with fp32 accumulation.
TENSOR_RATE = {
    "t4": 1024,
    "a100-40": 2048,
    "a100-80": 2048,
    "a100-80-pcie": 2048,
    "a800": 2048,
    "a800-pcie": 2048,
    "rtx-3090": 512,
    "rtx-4090": 512,
    "rtx-5090": 512,
    "l4": 1024,
    "l40s": 1024,
    "h100-sxm": 4096,
    "h100-pcie": 4096,
    "h800": 4096,
    "h200": 4096,
    "b200": 8192,
    "mi300x": 2048,
}
#: fp32 additions and multiplications that one SM starts in a clock, where it is not 128.
FP32_LANES = {"sm_75": 64, "sm_80": 64}


def test_the_gpus_of_the_course_are_here() -> None:
    wanted = (
        "a100-40 a100-80 a800 h100-sxm h100-pcie h800 h200 h20 b200 l4 l40s"
        " rtx-3090 rtx-4090 rtx-5090 t4 mi300x"
    )
    assert set(wanted.split()) <= set(GPUS)


@every_gpu
def test_every_figure_has_a_source_and_no_source_is_idle(key: str) -> None:
    record = GPUS[key]
    present = {name for name in NUMERIC if getattr(record, name) is not None}
    present |= {name for name in ("peak_flops", "latency") if getattr(record, name)}
    assert set(record.sources) == present
    assert all(len(text) > 15 for text in record.sources.values())
    assert all(figure.unit and figure.source for figure in record.measured.values())


@every_gpu
def test_derived_figures_say_so(key: str) -> None:
    record = GPUS[key]
    assert record.sram_bandwidth == (
        record.need("sms") * record.need("shared_bytes_per_clock") * record.need("boost_clock")
    )
    assert record.sources["sram_bandwidth"].startswith("derived")


@every_gpu
def test_memories_nest_and_get_slower(key: str) -> None:
    record = GPUS[key]
    per_block, per_sm = SHARED[record.arch]
    assert record.shared_per_block == per_block * KiB
    assert record.shared_per_sm == per_sm * KiB
    assert record.need("shared_per_sm") <= record.need("l1_per_sm")
    assert record.need("l2") < record.need("hbm_bytes")
    rungs = ladder(record)
    bandwidths = [rung.bandwidth for rung in rungs if rung.bandwidth is not None]
    assert len(bandwidths) >= 2
    assert bandwidths == sorted(bandwidths, reverse=True)
    clocks = [rung.latency for rung in rungs if rung.latency is not None]
    assert clocks == sorted(clocks)


@every_gpu
def test_the_link_to_the_host_is_the_slowest_of_all(key: str) -> None:
    record = GPUS[key]
    if record.pcie_generation is None:
        assert key in ("h20", "b200") and record.host_bandwidth is None
        return
    assert 15e9 < record.need("host_bandwidth") < record.need("hbm_bandwidth") / 4
    whole = {3: 32e9, 4: 64e9, 5: 128e9}[record.pcie_generation]  # both directions, as sold
    assert record.host_bandwidth == pytest.approx(whole / 2, rel=0.02)


@pytest.mark.parametrize("key", TENSOR_RATE)
def test_rates_are_dense_and_fit_the_architecture(key: str) -> None:
    record = GPUS[key]
    units, clock = record.need("sms"), record.need("boost_clock")
    assert record.peak("float16") == pytest.approx(units * TENSOR_RATE[key] * clock, rel=0.10)
    lanes = FP32_LANES.get(record.arch, 128)
    assert record.peak("float32") == pytest.approx(units * lanes * 2 * clock, rel=0.05)


def test_h20_is_the_one_with_a_capped_tensor_rate() -> None:
    assert set(GPUS) - set(TENSOR_RATE) == {"h20"}
    h20 = gpu("h20")
    assert h20.peak("float16") < 0.3 * h20.need("sms") * 4096 * h20.need("boost_clock")


@every_gpu
def test_narrow_types_are_never_slower(key: str) -> None:
    rates = GPUS[key].peak_flops
    order = [rates[name] for name in ("float32", "tf32", "float16", "float8") if name in rates]
    assert order == sorted(order)
    if "bfloat16" in rates:
        assert rates["bfloat16"] == rates["float16"]


def test_the_article_s_figures_for_the_a100() -> None:
    small, large = gpu("a100-40"), gpu("a100-80")
    assert small.l1 == 20.25 * MiB  # S04: 108 x 192 KiB
    assert small.l2 == 40 * MiB
    assert small.registers == 27 * MiB
    assert small.need("sram_bandwidth") == pytest.approx(19.5e12, rel=0.01)
    assert small.need("bandwidth_ratio") == pytest.approx(12.5, abs=0.05)  # S21: not 20
    assert large.need("bandwidth_ratio") == pytest.approx(9.6, abs=0.05)
    assert gpu("rtx-4090").need("bandwidth_ratio") > 20


def test_measured_figures_of_the_h200_agree_with_the_published_ones() -> None:
    h200 = gpu("h200")
    ours = {name: figure.value for name, figure in h200.measured.items()}
    assert ours["sram_bandwidth"] / ours["hbm_bandwidth"] == pytest.approx(7, abs=0.5)
    for name in ("sram_bandwidth", "hbm_bandwidth", "shared_bytes_per_clock", "exp_rate"):
        assert 0.9 * h200.need(name) < ours[name] <= 1.01 * h200.need(name)
    assert ours["bfloat16_matmul"] < h200.peak("bfloat16")
    assert [rung.measured for rung in ladder(h200)] == [False, False, True, False]


@every_gpu
def test_every_spelling_finds_its_record(key: str) -> None:
    record = GPUS[key]
    assert gpu(key) is gpu(record.name) is gpu(key.upper().replace("-", " ")) is record
    for name in record.device_names:
        assert gpu(name) is record
        assert known(name) is record


def test_device_names_belong_to_one_record() -> None:
    names = [name.lower() for record in GPUS.values() for name in record.device_names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("A100", "a100-80"),
        ("A100 40GB", "a100-40"),
        ("a100_80", "a100-80"),
        ("H100", "h100-sxm"),
        ("4090", "rtx-4090"),
        ("GeForce RTX 3090", "rtx-3090"),
        ("MI300", "mi300x"),
    ],
)
def test_loose_spellings(spelling: str, key: str) -> None:
    assert gpu(spelling).key == key


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("h1", "h100-sxm"), ("rtx-4091", "rtx-4090"), ("a10", "a100-40"), ("", "t4")],
)
def test_an_unknown_name_lists_near_ones(wrong: str, near: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        gpu(wrong)
    for language in ("en", "zh"):
        with using(language):
            assert near in str(caught.value)


def properties(name: str, **more: object) -> SimpleNamespace:
    figures: dict[str, object] = {
        "name": name,
        "major": 8,
        "minor": 9,
        "multi_processor_count": 76,
        "total_memory": 16 * 2**30,
        "L2_cache_size": 64 * MiB,
        "regs_per_multiprocessor": 65536,
        "shared_memory_per_multiprocessor": 100 * KiB,
        "shared_memory_per_block_optin": 99 * KiB,
    }
    return SimpleNamespace(**{**figures, **more})


def fake_torch(monkeypatch: pytest.MonkeyPatch, *devices: SimpleNamespace) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: bool(devices),
        current_device=lambda: 0,
        get_device_properties=lambda index: devices[index],
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))


def test_detect_finds_the_record_of_a_known_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, properties("NVIDIA H200"), properties("Tesla T4"))
    assert detect() is gpu("h200")
    assert detect(1) is gpu("t4")


def test_detect_without_gpu_or_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch)
    assert detect() is None
    monkeypatch.setitem(sys.modules, "torch", None)
    assert detect() is None


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA H200 MIG 1g.18gb",
        "NVIDIA H100 NVL",
        "NVIDIA L40",
    ],
)
def test_a_cousin_is_not_taken_for_the_card_we_know(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fake_torch(monkeypatch, properties(name))
    found = detect()
    assert found is not None
    assert found not in GPUS.values()
    assert (found.name, found.arch, found.sms, found.l2) == (name, "sm_89", 76, 64 * MiB)
    assert found.registers_per_sm == 256 * KiB
    assert found.hbm_bandwidth is None
    assert found.sram_bandwidth is None
    assert set(found.sources) >= {"sms", "l2", "hbm_bytes"}
    for language, word in (("en", "known figure"), ("zh", "已知数值")):
        with using(language), pytest.raises(ArgumentError, match=word):
            found.need("hbm_bandwidth")
    with pytest.raises(ArgumentError, match="float16"):
        found.peak("float16")


def test_old_torch_without_some_properties() -> None:
    bare = SimpleNamespace(name="Old", major=7, minor=0, multi_processor_count=80, total_memory=1)
    found = from_properties(bare)
    assert (found.sms, found.shared_per_block, found.l2, found.registers) == (80, None, None, None)


def test_amd_l2_of_one_die_is_not_taken_for_the_chip() -> None:
    found = from_properties(
        properties("AMD Instinct MI325X", gcnArchName="gfx942:sramecc+", L2_cache_size=4 * MiB)
    )
    assert (found.vendor, found.arch, found.l2) == ("AMD", "gfx942", None)


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(ArgumentError, match="bfloat16"):
        gpu("t4").peak("bfloat16")
    with pytest.raises(UnknownNameError, match="hbm_bandwidth"):
        gpu("t4").need("bandwidth")


def test_records_cannot_be_changed_but_copied() -> None:
    record = gpu("h200")
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.sms = 1  # type: ignore[misc]
    for mapping in (record.peak_flops, record.sources, record.measured, record.latency, GPUS):
        with pytest.raises(TypeError):
            mapping["x"] = 1  # type: ignore[index]
    again = pickle.loads(pickle.dumps(record))
    assert again == record
    assert again.sources == record.sources
    faster = dataclasses.replace(record, boost_clock=2e9)
    assert faster.need("sram_bandwidth") > record.need("sram_bandwidth")
