"""Recorded GPU measurements as data: peers, ceilings, memory, our kernels, ablations. Runs nothing.

A chapter without a GPU plots from here. Each row belongs to a `Run`, which knows device, driver,
versions, date and command; rows of different runs or regimes are never mixed by these functions.

    fa.measured.peers(pass_="forward", head_dim=128, causal=True)   # rates against N
    fa.measured.run("h200-peers").provenance.line()                 # what stands under a figure
"""

from __future__ import annotations

from .access import (
    ablations,
    bandwidths,
    ceilings,
    features,
    hosts,
    memory,
    ours,
    peers,
    ratios,
    run,
    runs,
    speeds,
)
from .checks import problems_of
from .compiled import (
    Compiled,
    compiled_length,
    compiled_provenance,
    compiled_tiles,
    find_compiled,
)
from .files import case_name, dump, load
from .provenance import Method, Provenance
from .providers import PROVIDERS, label
from .records import (
    Ablated,
    Accuracy,
    Bill,
    Ceiling,
    Feature,
    Host,
    Memory,
    Ratio,
    Run,
    Speed,
    counted_flops,
)
from .timeline import Span, Stamps, Timeline, spans
from .variants import variant_label

__all__ = [
    "PROVIDERS",
    "Ablated",
    "Accuracy",
    "Bill",
    "Ceiling",
    "Compiled",
    "Feature",
    "Host",
    "Memory",
    "Method",
    "Provenance",
    "Ratio",
    "Run",
    "Span",
    "Speed",
    "Stamps",
    "Timeline",
    "ablations",
    "bandwidths",
    "case_name",
    "ceilings",
    "compiled_length",
    "compiled_provenance",
    "compiled_tiles",
    "counted_flops",
    "dump",
    "features",
    "find_compiled",
    "hosts",
    "label",
    "load",
    "memory",
    "ours",
    "peers",
    "problems_of",
    "ratios",
    "run",
    "runs",
    "spans",
    "speeds",
    "variant_label",
]
