"""Misspelt words of the course, put right: letters left out, added, exchanged; homophones in Chinese.

Only towards words of the subject, and never a word that is spelt as one of them already.
"""

from __future__ import annotations

import functools
from itertools import combinations

WORDS = frozenset(
    """
    accumulate accumulated accumulator accuracy accurate activation addition algebra
    algorithm algorithms alleviate always answer anywhere approximate approximated
    approximation approximately arithmetic arrive arrives attention average averaged
    averages backward bandwidth before because bigger biggest block blocks blockwise
    bottleneck bounded buffer cache cached calculate calculated calculates calculation
    calculations capacity change changed changes checkpoint checkpointing chunk chunks
    combine combined communication complete completely complexity compress compressed
    computation computations compute computed computes computing constant context counting
    correct corrected correction correctly cubic decode decoding denominator denominators
    depend depends difference different dimension dimensions divide divided divides double
    doubles element elements entire equal equals equivalent every everything exact exactly
    expensive exponent exponential exponentials exponents factor faster fastest fewer final
    finite first float floating footprint forward fragment fused fusion global gradient
    gradients growing hardware hidden however identical identity inside instead intermediate
    intermediates iteration keeping kernel kernels larger largest latency length lengths
    limited linear linearly little loaded loading local location longer lower materialise
    materialised materialize materialized matrices matrix maxima maximum meaning memory
    merge merged merges mistake multiplication multiplications multiplied multiplies
    multiply negative normal normalise normalised normalization normalize normalized
    normaliser normalizer number numbers numerator numerators numerical numerically numerous operation
    operations operator order ordinary original output outputs outside overall overflow
    overflows parallel parallelism partial perform performed piece pieces position precise
    precision previous probabilities probability process processed processing product
    products proportional quadratic quadratically quadruple quadruples quality quantised
    quantization quantized queries query reads recalculate recalculated recomputation
    recompute recomputed recomputes recomputing reduce reduced reduces reduction register
    registers remain remains rescale rescaled rescales rescaling result results rounding
    running scaled score scores second separate separately sequence sequences several shared
    should shrink shrinks simply single slower small smaller softmax something sparse split
    splits square squared stability standard statistics store stored stores storing stream
    streaming subtract subtracted subtracting subtraction summed system table temporary
    tensor therefore throughput tiling together token tokens total traffic training transfer
    transferred transfers transport traverse twice update updated updates value values
    vector weight weights whole window without write writes writing written cannot
    """.split()  # noqa: SIM905  (a list of words reads better as words)
)

#: Words of their own that lie close to one of those.
REAL = frozenset(
    """
    accumulates recompile recompiled recompiles recompilation multiline while wrote story
    black accumulation accumulative activating algorithmic appropriate appropriately
    approximates approximating binding blocked blower brake broken building bundled caching
    calculating calculator catching chained chance chances charge cleared clever closure
    coasts collected collection communicating communicator communicators commutation commute
    compares comparing competing compilation compilations compiling completed completes
    completing composing compressor comprised computational computer computers connected
    connection constrain content correcting corrects correlate correlated correlation
    corrupted corruption costs decade decide deciding decoder differed differing dimensional
    divergence dividers doubly easter equivalence erase excessive exponentially expressive
    extensive factory faster father finale fixed flower fusing hardwired identify
    intermediary iterating iterative iterator iterators ladder lager landed landing large
    larger later leading letter limiter linearity liner lines linker loader locale locating
    locked lower manage mapping maritime matching materializes matter maximal measure
    message metric mixed multiple multiples multiplicative multiplier normalizes numerals
    numerate numerics numers operating operational operators originate outsize overloads
    parade parallelize parse partial parties passage pauses performer performs phases phrase
    pleasure poster prices probabilistic proceeding proceeds processor produce producers
    produces provision purse quadrant quadrants qualify quantile quantiles quantize
    quantizer quantizes reading reception reducer reducing reductor registered registries
    registry rejection resampled resampling reshaping resolving resulting retain retains
    riding scaler scaring scopes scored scoring scream seconds sentences separable separated
    separates separator sequencer shaded shaken shaped shard sharded shards sharing shorter
    shower shrunk simple slowed slower sorted sorter sorting spaces spare species spoken
    stabilize staring starting stated states statistical stocked streamline stress string
    strings subtractions subtracts subtrahend summer taken temporal throughout timing token
    trailing trainers transform transformed transforms transpose traversal treasure waiting
    wasting weeding weigh weighs writer writers
    """.split()  # noqa: SIM905  (a list of words reads better as words)
)

_SPECIAL = {
    "dosent": "doesn't", "dosnt": "doesn't", "doesnt": "doesn't", "dont": "don't", "isnt": "isn't",
    "arent": "aren't", "wasnt": "wasn't", "cant": "can't", "wont": "won't", "didnt": "didn't",
    "neednt": "needn't", "wouldnt": "wouldn't", "shouldnt": "shouldn't", "hasnt": "hasn't",
    "havent": "haven't", "frist": "first", "litle": "little", "mem": "memory", "calc": "calculate",
    "atn": "attention", "attn": "attention", "thier": "their", "wich": "which", "becuase": "because",
    "splitted": "split", "readed": "read", "writed": "written", "bwd": "backward", "fwd": "forward",
}  # fmt: skip

#: Slips of a Chinese keyboard: another word of the same sound.
CHINESE_SLIPS = {
    "小快": "小块", "分快": "分块", "一快一快": "一块一块", "每快": "每块", "逐快": "逐块", "线形": "线性",
    "便历": "遍历", "编历": "遍历", "最大直": "最大值", "数直": "数值", "极直": "极值", "统记": "统计",
    "归一划": "归一化", "规一化": "归一化", "仍掉": "扔掉", "合函数": "核函数", "推倒": "推导", "显村": "显存",
    "缓村": "缓存", "存诸": "存储", "储村": "储存", "内村": "内存", "带款": "带宽", "宽带": "带宽",
    "反像": "反向", "前像": "前向", "从新": "重新", "重记算": "重计算", "记算": "计算", "级算": "计算",
    "乘已": "乘以", "成以": "乘以", "乘于": "乘以", "分木": "分母", "分姆": "分母", "局步": "局部",
    "局布": "局部", "全据": "全局", "整航": "整行", "每航": "每行", "平房": "平方", "溢处": "溢出",
    "易出": "溢出", "近是": "近似", "进似": "近似", "精却": "精确", "经确": "精确", "精准度": "精度",
    "序烈": "序列", "缩方": "缩放", "累记": "累计", "类加": "累加", "累家": "累加", "合病": "合并",
    "和并": "合并", "融和": "融合", "瓶径": "瓶颈", "瓶劲": "瓶颈", "访村": "访存", "通迅": "通信",
    "解马": "解码", "硬建": "硬件", "掩马": "掩码", "梯度检察点": "梯度检查点", "检察点": "检查点",
    "等价于": "等价于", "拆份": "拆分", "切份": "切分", "一便": "一遍", "两便": "两遍", "三便": "三遍",
}  # fmt: skip

_TRADITIONAL_PAIRS = (
    "塊块 顯显 記记 憶忆 體体 計计 算算 讀读 寫写 陣阵 數数 據据 總总 後后 個个 還还 來来 這这 們们 會会 為为 "
    "與与 於于 從从 將将 對对 應应 過过 進进 運运 內内 裡里 裏里 級级 線线 復复 雜杂 變变 減减 積积 點点 碼码 "
    "長长 銀银 實实 現现 並并 沒没 開开 關关 機机 構构 頭头 維维 參参 儲储 終终 結结 網网 緩缓 衝冲 約约 絕绝 "
    "時时 間间 離离 際际 單单 獨独 遞递 輸输 訊讯 傳传 統统 層层 區区 別别 準准 確确 誤误 差差 樣样 麼么 "
    "處处 優优 勢势 節节 擴扩 測测 試试 問问 題题 讓让 課课 說说 請请 權权 歸归 嚴严 稱称 錯错 當当 樂乐 "
    "慢慢 邊边 遠远 擇择 選选 條条 極极 值值 頻频 寬宽 訪访 種种 類类 簡简 無无 萬万 億亿 倍倍 幾几 較较 "
    "鍵键 詢询 熱热 壓压 縮缩 損损 換换 環环 產产 發发 導导 許许 設设 該该 論论 證证 識识 議议 護护 資资 "
    "質质 軟软 載载 輕轻 達达 適适 遲迟 遺遗 鄰邻 釋释 鏈链 錄录 隨随 難难 雙双 電电 響响 順顺 須须 預预 領领 額额"
)
TRADITIONAL = {pair[0]: pair[1] for pair in _TRADITIONAL_PAIRS.split()}


def corrected(word: str) -> str:
    """The word meant, or the word itself."""
    if word in WORDS or word in _SPECIAL:
        return _SPECIAL.get(word, word)
    return word if len(word) < 5 or word in REAL else _nearest(word)


@functools.lru_cache(maxsize=4096)
def _nearest(word: str) -> str:
    known = _known_deletions()
    for removed in (0, 1, 2) if len(word) >= 9 else (0, 1):
        near = {
            right
            for left in _deletions(word, removed)
            for right in known.get(left, ())
            if right[0] == word[0] and abs(len(right) - len(word)) < 2 and _alike(word, right)
        }
        if near:  # the likest, and of equally like ones always the same
            return min(near, key=lambda right: (*_unlike(word, right), right))
    return word


def _unlike(word: str, right: str) -> tuple[int, int]:
    """How far two words are apart: in length, then in letters at the same place."""
    return abs(len(word) - len(right)), sum(a != b for a, b in zip(word, right, strict=False))


_SOUNDS = ("aeiouy", "mn", "sc", "ck", "sz", "dt", "bp")


def _alike(word: str, right: str) -> bool:
    """Whether two words that share a deletion differ as slips do, not as forms of a verb do."""
    if word.rstrip("sdgin") == right.rstrip("sdgin") or word[:4] + word[-1:] == right[:4]:
        return False
    if len(word) < 9:  # a letter left out or added, two exchanged, or one of a like sound
        if len(word) != len(right):
            return len(word) > 5 or len(right) > 5
        wrong = [pair for pair in zip(word, right, strict=True) if pair[0] != pair[1]]
        if len(wrong) == 2:
            return wrong[0] == wrong[1][::-1]
        return (
            len(word) > 5
            and len(wrong) == 1
            and any(set(wrong[0]) <= set(like) for like in _SOUNDS)
        )
    return word[:2] == right[:2]


def _deletions(word: str, removed: int) -> set[str]:
    places = range(len(word))
    return {
        "".join(c for at, c in enumerate(word) if at not in gone)
        for gone in combinations(places, removed)
    }


@functools.cache
def _known_deletions() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word in sorted(WORDS):
        if len(word) < 5:
            continue
        for removed in (0, 1, 2) if len(word) >= 9 else (0, 1):
            for left in _deletions(word, removed):
                found[left] = (*found.get(left, ()), word)
    return found
