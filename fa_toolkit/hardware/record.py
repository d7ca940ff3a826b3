"""What a GPU record is: plain figures, each with the document it comes from. Holds no data.

Figures that can be computed from others (on-chip bandwidth, totals over the chip) are properties,
never typed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar

from ..errors import ArgumentError, UnknownNameError
from ..language import Text

KiB = 1024
MiB = 1024 * KiB
GiB = 1024 * MiB

Level = Literal["registers", "shared", "l2", "hbm"]
LEVELS: tuple[Level, ...] = ("registers", "shared", "l2", "hbm")
V = TypeVar("V")


@dataclass(frozen=True)
class Figure:
    """One measured value with its unit and where it was measured."""

    value: float
    unit: str
    source: str


def _frozen(mapping: Mapping[str, V]) -> Mapping[str, V]:
    return MappingProxyType(dict(mapping))


@dataclass(frozen=True)
class GPU:
    """One GPU: sizes in bytes, rates in bytes or operations per second.

    Think of it as a ladder: the registers of one SM are fast and small, shared memory is next,
    then the L2 that all SMs share, then HBM (or GDDR), large and slow. A figure that is not
    published is None and asking for it with `need` is an error, never a guess.

    Capacities that vendors call "GB" are 2^30 bytes; bandwidths in "GB/s" are 10^9.

    Args:
        key: the short name that `gpu(...)` takes.
        arch: "sm_80" for compute capability 8.0; "gfx942" for AMD.
        sms: streaming multiprocessors (AMD: compute units).
        registers_per_sm: bytes of register file in one SM.
        l1_per_sm: L1 and shared memory together, of which `shared_per_sm` may be shared memory.
        shared_per_block: the most shared memory one block (one Triton program) can have.
        warps_per_sm: the most warps that one SM keeps resident.
        pcie_generation: of the link to the host; all of ours have 16 lanes.
        peak_flops: dense FLOP/s by dtype, matrix units with fp32 accumulation; "float32" is the
            rate without them, "tf32" with them.
        boost_clock: SM clock in Hz behind the derived figures.
        shared_bytes_per_clock: bytes one SM moves from shared memory in a clock.
        exp_per_clock: exponentials one SM starts in a clock.
        latency: clocks from load to use, by level.
        sources: for every figure, the document and section it is taken from.
        measured: figures we measured ourselves, kept apart from the published ones.
        device_names: what `torch.cuda.get_device_name` calls it.
    """

    key: str
    name: str
    vendor: str
    arch: str
    sms: int | None = None
    registers_per_sm: int | None = None
    l1_per_sm: int | None = None
    shared_per_sm: int | None = None
    shared_per_block: int | None = None
    l2: int | None = None
    l2_bandwidth: float | None = None
    warps_per_sm: int | None = None
    pcie_generation: int | None = None
    hbm_bytes: int | None = None
    hbm_bandwidth: float | None = None
    peak_flops: Mapping[str, float] = field(default_factory=dict, hash=False)
    boost_clock: float | None = None
    shared_bytes_per_clock: int | None = None
    exp_per_clock: int | None = None
    latency: Mapping[str, float] = field(default_factory=dict, hash=False)
    sources: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    measured: Mapping[str, Figure] = field(default_factory=dict, hash=False, repr=False)
    device_names: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        sources = dict(self.sources)
        for name, formula in _DERIVED.items():
            if getattr(self, name) is not None:
                sources[name] = f"derived: {formula}"
        object.__setattr__(self, "sources", _frozen(sources))
        object.__setattr__(self, "peak_flops", _frozen(self.peak_flops))
        object.__setattr__(self, "latency", _frozen(self.latency))
        object.__setattr__(self, "measured", _frozen(self.measured))

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("peak_flops", "latency", "sources", "measured"):
            fields[name] = dict(fields[name])
        return (_rebuild, (fields,))

    @property
    def sram_bandwidth(self) -> float | None:
        """Bytes per second all SMs together move from shared memory. Derived, not published.

        Example:
            >>> from fa_toolkit.hardware import gpu
            >>> round(gpu("a100-40").sram_bandwidth / 1e12, 1)
            19.5
        """
        if self.sms is None or self.shared_bytes_per_clock is None or self.boost_clock is None:
            return None
        return self.sms * self.shared_bytes_per_clock * self.boost_clock

    @property
    def exp_rate(self) -> float | None:
        """Exponentials per second, all SMs together."""
        if self.sms is None or self.exp_per_clock is None or self.boost_clock is None:
            return None
        return self.sms * self.exp_per_clock * self.boost_clock

    @property
    def host_bandwidth(self) -> float | None:
        """Bytes per second that the link to the host carries in one direction. Derived.

        Example:
            >>> from fa_toolkit.hardware import gpu
            >>> round(gpu("a100-40").host_bandwidth / 1e9, 1)
            31.5
        """
        if self.pcie_generation is None:
            return None
        return PCIE_LANES * _PCIE_RATE[self.pcie_generation] * _PCIE_CODE / 8

    @property
    def registers(self) -> int | None:
        """Bytes of register file on the whole chip."""
        return _product(self.sms, self.registers_per_sm)

    @property
    def shared(self) -> int | None:
        """Bytes of shared memory on the whole chip, at the largest setting."""
        return _product(self.sms, self.shared_per_sm)

    @property
    def l1(self) -> int | None:
        """Bytes of L1 and shared memory together on the whole chip."""
        return _product(self.sms, self.l1_per_sm)

    @property
    def bandwidth_ratio(self) -> float | None:
        """How many times faster shared memory is than HBM, whole chip against whole chip.

        Example:
            >>> from fa_toolkit.hardware import gpu
            >>> [round(gpu(key).bandwidth_ratio, 1) for key in ("a100-40", "a100-80", "rtx-4090")]
            [12.5, 9.6, 41.0]
        """
        if self.sram_bandwidth is None or self.hbm_bandwidth is None:
            return None
        return self.sram_bandwidth / self.hbm_bandwidth

    def need(self, figure: str) -> float:
        """The value of `figure`, or an error that says it is unknown for this GPU.

        Raises:
            UnknownNameError: if a record has no such figure.
            ArgumentError: if the figure is unknown for this GPU.
        """
        if figure not in NUMERIC:
            raise UnknownNameError("figure", expected=" | ".join(NUMERIC), got=repr(figure))
        value = getattr(self, figure)
        if value is None:
            raise ArgumentError(
                f"{self.name}: {figure}",
                expected=Text("a known figure", "已知数值"),
                got="None",
                hint=Text(
                    "use a GPU of fa.hardware.GPUS, or fill the figure in with"
                    " dataclasses.replace(gpu, ...)",
                    "换用 fa.hardware.GPUS 里的 GPU，或用 dataclasses.replace(gpu, ...) 补上这个数",
                ),
            )
        return float(value)

    def peak(self, dtype: str) -> float:
        """Dense peak FLOP/s for `dtype`.

        Raises:
            ArgumentError: if no rate is known, as bfloat16 on a T4.

        Example:
            >>> from fa_toolkit.hardware import gpu
            >>> gpu("a100-40").peak("bfloat16")
            312000000000000.0
        """
        if dtype in self.peak_flops:
            return self.peak_flops[dtype]
        known = ", ".join(self.peak_flops)
        raise ArgumentError(
            f"{self.name}: dtype",
            expected=Text(
                f"a dtype with a known peak rate ({known or 'none is known for this GPU'})",
                f"已知峰值算力的 dtype（{known or '这块 GPU 一个也没有'}）",
            ),
            got=repr(dtype),
            hint=Text(
                "choose another dtype or a GPU of fa.hardware.GPUS",
                "换一种 dtype，或换用 fa.hardware.GPUS 里的 GPU",
            ),
        )


#: Every figure that is a single number.
NUMERIC = (
    "sms",
    "registers_per_sm",
    "l1_per_sm",
    "shared_per_sm",
    "shared_per_block",
    "l2",
    "l2_bandwidth",
    "warps_per_sm",
    "pcie_generation",
    "hbm_bytes",
    "hbm_bandwidth",
    "boost_clock",
    "shared_bytes_per_clock",
    "exp_per_clock",
    "sram_bandwidth",
    "exp_rate",
    "registers",
    "shared",
    "l1",
    "bandwidth_ratio",
    "host_bandwidth",
)

PCIE_LANES = 16
#: Transfers per second of one lane, and the part of them that is data: PCI-SIG, PCI Express Base
#: Specification, revisions 3.0, 4.0 and 5.0.
_PCIE_RATE = {3: 8e9, 4: 16e9, 5: 32e9}
_PCIE_CODE = 128 / 130

_DERIVED = {
    "sram_bandwidth": "sms x shared_bytes_per_clock x boost_clock",
    "exp_rate": "sms x exp_per_clock x boost_clock",
    "registers": "sms x registers_per_sm",
    "shared": "sms x shared_per_sm",
    "l1": "sms x l1_per_sm",
    "bandwidth_ratio": "sram_bandwidth / hbm_bandwidth",
    "host_bandwidth": (
        "16 lanes x 8, 16 or 32 GT/s (PCIe 3, 4, 5) x 128/130 / 8 bits, one direction"
        " (PCI-SIG, PCI Express Base Specification)"
    ),
}


def _product(count: int | None, each: int | None) -> int | None:
    return None if count is None or each is None else count * each


def _rebuild(fields: dict[str, object]) -> GPU:
    return GPU(**fields)  # type: ignore[arg-type]
