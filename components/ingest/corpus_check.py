"""Whether an input is what it is said to be, told from a sample of its pairs.

A file in another language, with its sides exchanged, shuffled, shifted by a line or
read in a wrong encoding passes most rules pair by pair; as a whole it does not.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from components.ingest.cleaning import alignment
from components.ingest.cleaning.identifier import accepted, classify
from components.ingest.cleaning.pairs import Pairs
from components.ingest.cleaning.repair import repair
from components.ingest.layout import NOT_TEXT
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import sides
from components.ingest.sources.synthetic import SyntheticConfig

_BATCHES = 16  # from the start of the input
_SAMPLE = 2000  # pairs of them, evenly
_FEWEST = 100  # pairs that can be judged together
_IDENTIFIED = 200  # sentences of each side, the longest of the sample
_LONG = 20  # characters of a sentence whose language can be told
_QUARTERS = 4
_QUARTER = 250  # pairs at least, for a correlation that means something
_ADDED = 10  # letters added to lengths, so that short sentences may differ more
# Limits between clean text and faults, as measured on both; see docs/data.md.
_IN_LANGUAGE = 0.5  # clean: .91 and more
# Of lengths, and of the alignment score's ranks. Clean: .7 and more in every quarter;
# shuffled or shifted, one of them: below .56.
_RELATED = 0.6
_COPIED = 0.1
_SPOILT = 0.01  # of pairs that are not text, or were read in a wrong encoding
_CERTAIN = 0.9


@dataclasses.dataclass(frozen=True)
class CorpusCheck:
    """What a sample of one input says of it.

    Attributes:
      task, split, name: The input.
      pairs: Pairs in the sample.
      source_languages, target_languages: Share of each language among the longer
        sentences of a side; empty where the identifier cannot tell.
      length_correlation: Of the logarithms of the two sides' lengths; the least of
        any quarter of the sample.
      shuffled_correlation: The same of the whole sample with its targets shuffled.
      told_apart: How often a pair has a better alignment score than one of the
        shuffled pairs (.5: by chance); the least of any quarter.
      copied: Share of pairs whose sides are the same.
      undecodable: Share of pairs that are not text in the file's encoding.
      garbled: Share of pairs with UTF-8 that was read as a Western encoding.
      warnings: What is wrong, in words.
      certain: Whether there is no doubt about one of them.
    """

    task: str
    split: str
    name: str
    pairs: int
    source_languages: dict[str, float] = dataclasses.field(default_factory=dict)
    target_languages: dict[str, float] = dataclasses.field(default_factory=dict)
    length_correlation: float = 1.0
    shuffled_correlation: float = 0.0
    told_apart: float = 1.0
    copied: float = 0.0
    undecodable: float = 0.0
    garbled: float = 0.0
    warnings: tuple[str, ...] = ()
    certain: bool = False


def check(entry: TextInput) -> CorpusCheck:
    """Looks at a sample of an input.

    Raises:
      UserError: It cannot be read.
    """
    from components.ingest.sources.reading import read  # Beam starts only for work

    rows: list[tuple[str, str]] = []
    bad = 0
    for batch in itertools.islice(read(entry, 0, SyntheticConfig()), _BATCHES):
        both = enumerate(zip(batch.sources, batch.targets, strict=True))
        rows += [pair for i, pair in both if i not in batch.faults]
        bad += sum(rule == NOT_TEXT for rule in batch.faults.values())
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(int)
    sample = [rows[i] for i in chosen]
    garbled = sum(any(map(_garbled, pair)) for pair in sample)
    found = CorpusCheck(
        entry.task,
        entry.split,
        entry.name,
        len(sample),
        undecodable=bad / max(1, bad + len(rows)),
        garbled=garbled / max(1, len(sample)),
    )
    repaired = (repair([pair[side] for pair in sample]) for side in (0, 1))
    whole = [pair for pair in zip(*repaired, strict=True) if all(pair)]
    if len(whole) >= _FEWEST:
        sources, targets = (list(side) for side in zip(*whole, strict=True))
        found = _measured(found, Pairs(sources, targets, sides(entry.task)))
    certain = max(found.copied, found.undecodable, _exchanged(found)) > _CERTAIN
    warnings = tuple(_warnings(entry, found))
    return dataclasses.replace(found, warnings=warnings, certain=certain)


def _measured(found: CorpusCheck, pairs: Pairs) -> CorpusCheck:
    """Fills in what needs sentences on both sides."""
    source, target = pairs.sides
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = Pairs(
        source.texts,
        [target.texts[i] for i in order],
        (source.language, target.language),
    )
    own, others = alignment.scores(pairs), np.sort(alignment.scores(shuffled))
    ranks = np.searchsorted(others, own) + np.searchsorted(others, own, "right")
    left, right = (np.log(side.sizes + _ADDED) for side in pairs.sides)
    quarters = max(1, min(_QUARTERS, len(pairs) // _QUARTER))
    parts = np.array_split(np.arange(len(pairs)), quarters)
    same = zip(source.casefolded, target.casefolded, strict=True)
    return dataclasses.replace(
        found,
        source_languages=_languages(source.texts),
        target_languages=_languages(target.texts),
        length_correlation=min(_correlation(left[part], right[part]) for part in parts),
        shuffled_correlation=_correlation(left, right[order]),
        told_apart=min(float(ranks[part].mean()) for part in parts) / 2 / len(others),
        copied=sum(one == other for one, other in same) / len(pairs),
    )


def _correlation(left: np.ndarray, right: np.ndarray) -> float:
    """Pearson's; 1 where all lengths of a side are the same, which says nothing."""
    if not left.std() or not right.std():
        return 1.0
    return float(np.corrcoef(left, right)[0, 1])


def _languages(texts: Sequence[str]) -> dict[str, float]:
    """The shares of languages in the longest sentences, the largest first."""
    longest = sorted(texts, key=len)[-_IDENTIFIED:]
    codes = Counter(
        code for code, _ in classify([t for t in longest if len(t) >= _LONG])
    )
    return {code: n / codes.total() for code, n in codes.most_common(5)}


def _in(languages: dict[str, float], language: str) -> float:
    """The share of a language; 1 where it cannot be told."""
    codes = accepted(language)
    if not codes or not languages:
        return 1.0
    return sum(share for code, share in languages.items() if code in codes)


def _exchanged(found: CorpusCheck) -> float:
    """The share of both sides that is in the other side's language."""
    source, target = sides(found.task)
    if accepted(source) & accepted(target) or not found.source_languages:
        return 0.0
    if not accepted(source) or not accepted(target) or not found.target_languages:
        return 0.0
    return min(_in(found.source_languages, target), _in(found.target_languages, source))


def _garbled(text: str) -> bool:
    """Whether this is UTF-8 that was read as a Western encoding."""
    if text.isascii():
        return False
    for codec in ("cp1252", "latin-1"):
        try:
            text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False


def _warnings(entry: TextInput, found: CorpusCheck) -> Iterator[str]:
    if found.undecodable > _SPOILT:
        yield (
            f"{found.undecodable:.0%} of the pairs are not text in the encoding of "
            f"their file{_hint(entry)}"
        )
    if found.garbled > _SPOILT:
        yield (
            f"{found.garbled:.0%} of the pairs look like UTF-8 that was read in a "
            "Western encoding; set encoding: utf-8, or repair the file"
        )
    if _exchanged(found) > _IN_LANGUAGE:
        yield "source and target are exchanged: each side is in the other's language"
    else:
        told = found.source_languages, found.target_languages
        names = zip(("source", "target"), sides(entry.task), told, strict=True)
        for side, language, shares in names:
            if (share := _in(shares, language)) < _IN_LANGUAGE:
                most = next(iter(shares))
                yield (
                    f"only {share:.0%} of the longer {side} sentences are in "
                    f"{language}; {shares[most]:.0%} are in {most}"
                )
    if found.copied > _COPIED:
        yield f"the sides of {found.copied:.0%} of the pairs are the same text"
    elif min(found.length_correlation, found.told_apart) < _RELATED:
        yield (
            "the sides are not translations of each other, in part at least (shuffled, "
            "or shifted by a line?): the correlation of their lengths falls to "
            f"{found.length_correlation:.2f}, and pairs are told from shuffled ones in "
            f"{found.told_apart:.0%} of cases (chance: 50 %)"
        )


def _hint(entry: TextInput) -> str:
    """The encodings that the bytes of the files suggest, as advice."""
    from components.ingest.sources.text_files import detect

    keys = {"lines": ("encoding.source", "encoding.target")}
    keys |= dict.fromkeys(("tsv", "csv", "jsonl"), ("encoding",))
    names = zip(keys.get(entry.format, ()), entry.paths, strict=False)
    told = [(key, detect(path)) for key, path in names]
    advice = [f"{key}: {codec}" for key, codec in told if codec not in (None, "utf-8")]
    return f"; try {', '.join(advice)}" if advice else ""
