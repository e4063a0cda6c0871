"""Experiment files: what a good one becomes, and every mistake a person can make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from models.errors import UserError
from pipeline import experiment
from pipeline.cross_checks import check_files, check_fit
from pipeline.experiment import SHIPPED

GOLDEN = Path(__file__).parent / "golden"
TINY = """\
name: tiny
cohort: en-xx
tasks: [en-de, en-fr]
train:
  sizes: [2k, 5k, 9k, 37k, 74k]
  mixtures: [0.1, 0.3, 0.5, 0.9]
  seeds: [0, 1]
fit:
  held_out: {sizes: [74k], mixtures: [{en-de: 0.3, en-fr: 0.7}]}
"""


def load(tmp_path: Path, text: str, *set_values: str) -> experiment.Experiment:
    path = tmp_path / "tiny.yaml"
    path.write_text(text, encoding="utf-8")
    return experiment.load(path, set_values)


def test_a_good_file_becomes_a_grid(tmp_path):
    loaded = load(tmp_path, TINY, "train.seeds=[7]", "train.steps=2e3")
    assert loaded.train.steps == 2000
    assert len(loaded.trials) == 5 * 4 * 1
    assert loaded.trials[1].id == "en-xx_2k_p0.30_s7"
    assert loaded.fit.held_out.sizes == ("74k",)


def test_fewer_sizes_are_enough_when_a_coefficient_is_given(tmp_path):
    small = ("train.sizes=[2k, 5k, 9k, 74k]",)
    with pytest.raises(UserError, match="train.sizes: 3 sizes remain for the fit"):
        check_fit(load(tmp_path, TINY, *small))
    check_fit(load(tmp_path, TINY, *small, "fit.fixed={alpha: 0.3}"))
    held = "fit.held_out.mixtures=[0.1, 0.3, 0.5, 0.9]"
    with pytest.raises(UserError, match="mixtures: every mixture is held out"):
        check_fit(load(tmp_path, TINY, held))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("nam: x", "nam: unknown key; did you mean name?"),
        ("steps: 5", "steps: unknown key; did you mean train.steps?"),
        ("name: a/b", "name: 'a/b' names folders"),
        ("cohort: ''", "cohort: '' names folders"),
        ("tasks: []", "tasks: expected at least one task"),
        ("tasks: [en-de, en-de]", "tasks[1]: en-de is already there, as tasks[0]"),
        ("tasks: [ende, en-fr]", "tasks[0]: expected source-target language codes"),
        ("tasks: [en-en, en-fr]", "tasks[0]: 'en-en' translates a language into"),
        ("tasks: en-de", "tasks: expected a list, each item text, found 'en-de'"),
        ("train: {}", "train.sizes: missing; expected a list, each item text"),
        ("train: 5", "train: expected a section of `key: value`, found 5"),
        ("train.sizes: []", "train.sizes: expected at least one size"),
        ("train.sizes: [2k, 5k, 9k, 37k, 75x]", "train.sizes[4]: unknown size '75x'"),
        ("train.sizes: [2k, 5k, 9k, 2k]", "train.sizes[3]: 2k is already there"),
        ("train.mixtures: []", "train.mixtures: expected at least one mixture"),
        ("train.mixtures: [0.3, 1.3]", "train.mixtures[1]: mixture en-de=1.3"),
        (
            "train.mixtures: [{en-de: 0.3, en-fr: 0.8}]",
            "train.mixtures[0]: mixture en-de=0.3 en-fr=0.8: the weights sum to 1.1",
        ),
        (
            "train.mixtures: [{en-de: 0.3, en-zh: 0.7}]",
            "train.mixtures[0]: en-zh is not one of the tasks (en-de, en-fr)",
        ),
        (
            "train.mixtures: [0.3, {en-de: 0.3, en-fr: 0.7}]",
            "train.mixtures[1]: {en-de: 0.3, en-fr: 0.7} is already there, as "
            "train.mixtures[0]",
        ),
        ("train.seeds: []", "train.seeds: expected at least one seed"),
        (
            "train.steps_by_size: {75m: 50}",
            "train.steps_by_size.75m: unknown size '75m'",
        ),
        ("train.seeds: [0, 0]", "train.seeds[1]: 0 is already there"),
        (
            "fit.held_out.sizes: [64M]",
            "fit.held_out.sizes[0]: 64M is not among train.sizes (2k, 5k, 9k, 37k",
        ),
        (
            "fit.held_out.mixtures: [0.5, 0.2]",
            "fit.held_out.mixtures[1]: {en-de: 0.2, en-fr: 0.8} is not among train.mix",
        ),
        ("fit.held_out.size: [2k]", "did you mean fit.held_out.sizes?"),
        ("fit.draws: -1", "fit.draws: -1; expected 0 or more"),
        ("fit.capacity: linaer", "found 'linaer'; did you mean linear?"),
        ("ingest.source: text", "ingest.text.en-de: missing; expected a section with"),
        ("ingest.rules.copied.word: 3", "did you mean ingest.rules.copied.words?"),
        ("tokenize.vocabulary_size: 2k", "expected a whole number, found '2k'"),
        ("select.keep: 1.5", "select.keep: 1.5 must lie in (0, 1]"),
        (
            "select.keep: {en-ed: 0.5}",
            "select.keep.en-ed: is not one of the tasks (en-de, en-fr); did you mean",
        ),
        (
            "select.contrastive: {}",
            "select.contrastive.trusted: missing; expected task: {source: ",
        ),
        (
            "select.contrastive: {size: 75x, trusted: {en-de: {files: a.tsv}}}",
            "select.contrastive.size: unknown size '75x'",
        ),
        (
            "select.contrastive: {in_domain: {en-de: {files: a.tsv}}}",
            "select.contrastive.in_domain.en-fr: missing; expected a section with",
        ),
        ("train.anneal: {}", "train.anneal: draws from the best rows; say select.onl"),
        ("train.anneal: {keep: 0}", "train.anneal.keep: got 0.0, expected 0 < keep"),
        ("recommend.n: -5", "recommend.n: -5; expected a positive number"),
        ("evaluate.quality: {curve: true}", "set train.keep_weights: true"),
        ("evaluate.quality.metrics: [blue]", "'blue'; did you mean bleu?"),
        ("evaluate.quality.search: {beams: 0}", "evaluate.quality.search.beams: got 0"),
    ],
)
def test_a_mistake_names_the_file_and_the_full_key(tmp_path, change, message):
    tree = yaml.safe_load(TINY)
    section = tree
    key, _, value = change.partition(": ")
    *above, last = key.split(".")
    for name in above:
        section = section.setdefault(name, {})
    section[last] = yaml.safe_load(value)
    with pytest.raises(UserError) as caught:
        load(tmp_path, yaml.safe_dump(tree))
    assert str(caught.value).startswith(f"{tmp_path / 'tiny.yaml'}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mistake_on_the_command_line_is_not_blamed_on_the_file(tmp_path):
    with pytest.raises(UserError, match="^--set: train.stepps: unknown key; did you"):
        load(tmp_path, TINY, "train.stepps=3")
    with pytest.raises(UserError, match="^--set: fit.held_out.sizes.0.: 5M is not"):
        load(tmp_path, TINY, "fit.held_out.sizes=[5M]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# nothing but a comment\n", "the file is empty"),
        ("- 1\n- 2\n", "expected `key: value` lines, found something else"),
        ("name: [a\n", "tiny.yaml:2: "),
        (TINY + "name: again\n", "tiny.yaml:10: the key 'name' is written twice"),
    ],
)
def test_what_is_no_experiment_file_is_refused(tmp_path, text, message):
    with pytest.raises(UserError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="is a directory, expected an experiment file"):
        experiment.find(tmp_path)
    with pytest.raises(UserError, match=r"none\.yaml: no such file \(shipped: "):
        experiment.find(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="no such file; the shipped one is 'en_de_zh'"):
        experiment.find(tmp_path / "en_de_zh.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"name: \xff\n")
    with pytest.raises(UserError, match=r"not UTF-8 text \(byte 6\)"):
        experiment.load(binary)


def test_a_shipped_experiment_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert experiment.find(Path("en_de_zh")) == SHIPPED / "en_de_zh.yaml"


def test_text_paths_are_relative_to_the_file(tmp_path):
    text = TINY + (
        "ingest:\n  source: text\n  text:\n"
        "    en-de: {source: text.en, target: text.de}\n"
        "    en-fr: {source: text.en, target: text.fr}\n"
    )
    loaded = load(tmp_path, text)
    for name in ("text.en", "text.de"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"ingest\.text\.en-fr\.target: no file .*fr"):
        check_files(loaded, tmp_path)
    (tmp_path / "text.fr").write_text("x\n", encoding="utf-8")
    check_files(loaded, tmp_path)


def test_paths_on_the_command_line_start_where_one_stands(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("text.en", "text.de"):
        (here / name).write_text("x\n", encoding="utf-8")
    loaded = load(
        tmp_path, TINY, "ingest.source=text", "tokenize.model=text.en",
        "ingest.text={en-de: {source: text.en, target: text.de}, en-fr: {files: a.b}}",
        f"ingest.text.en-fr.test_sets.news.files={here}/*.en",
    )  # fmt: skip
    text = loaded.ingest.text
    assert (text["en-de"].source, text["en-fr"].files) == ("here/text.en", "a.b")
    assert text["en-fr"].test_sets["news"].files == "here/*.en"
    assert loaded.tokenize.model == "here/text.en"


def test_better_text_to_select_by_is_looked_for_before_any_work(tmp_path):
    text = TINY + (
        "select:\n  contrastive:\n    trusted:\n"
        "      en-de: {source: good.en, target: good.de}\n"
        "      en-fr: {files: good.tsv}\n"
    )
    loaded = load(tmp_path, text)
    (tmp_path / "good.tsv").write_text("source\ttarget\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"^select\.contrastive\.trusted\.en-de\.so"):
        check_files(loaded, tmp_path)
    for name in ("good.en", "good.de"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    check_files(loaded, tmp_path)


def test_every_experiment_can_be_overridden_at_every_leaf(tmp_path):
    """What `dump` shows can be said with ``--set``, and changes nothing."""
    loaded = load(tmp_path, TINY)
    lines = experiment.dump(loaded).splitlines()
    assert len(lines) > 20
    again = load(tmp_path, TINY, *(line.replace(": ", "=", 1) for line in lines))
    assert again == loaded


MINIMAL = "name: x\ncohort: x\ntasks: [en-de]\ntrain: {sizes: [2k], mixtures: [1]}\n"


@pytest.mark.parametrize(
    "name", ["defaults", *(p.stem for p in SHIPPED.glob("*.yaml"))]
)
def test_shipped_experiments_mean_what_they_meant(tmp_path, name):
    """Golden files guard against drift only: POLYSCALE_REWRITE_GOLDEN=1 rewrites them.

    A change shows in review as a difference of resolved values: the defaults in one
    file, in those of the experiments only what differs from them.
    """
    defaults = experiment.dump(load(tmp_path, MINIMAL)).splitlines()
    resolved = defaults
    if name != "defaults":
        shipped = experiment.dump(experiment.load(SHIPPED / f"{name}.yaml"))
        empty = (": null", ": []", ": {}", ": false")
        resolved = [
            line
            for line in shipped.splitlines()
            if line not in defaults and not line.endswith(empty)
        ]
    golden = GOLDEN / f"{name}.txt"
    text = "\n".join(resolved) + "\n"
    if os.environ.get("POLYSCALE_REWRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    known = golden.read_text(encoding="utf-8") if golden.exists() else ""
    assert text == known, "meant? then POLYSCALE_REWRITE_GOLDEN=1 and look at it"


def test_shipped_experiments_are_told_apart():
    loaded = [experiment.load(path) for path in SHIPPED.glob("*.yaml")]
    studies = [one for one in loaded if len(one.train.sizes) > 5]
    assert len({one.cohort for one in studies}) == len(studies) == 5
    assert len({one.name for one in loaded}) == len(loaded)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_experiments_begin_with_what_a_reader_wants_to_know(path):
    text = path.read_text(encoding="utf-8")
    head = text[: text.index("\nname:")]
    assert all(line.startswith("#") for line in head.splitlines())
    for wanted in ("polyscale run", "Cost:", "Expect:"):
        assert wanted in head
    assert experiment.load(path).name == path.stem
