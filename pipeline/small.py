"""The small twin of an experiment: the same study in minutes, to see that it ends."""

from __future__ import annotations

import dataclasses

from components import ingest
from components.ingest.sources.synthetic import SyntheticConfig
from models.nmt.sizes import LADDER, SHAPES, get_shape
from pipeline.experiment import Experiment

_LENGTH = 48
_STEPS = 60
_BATCH_TOKENS = 256
# Deeper models of a study of depths only take longer to build.
_MAX_LAYERS = 14
_BASE = LADDER[0].name


def small(experiment: Experiment) -> Experiment:
    """The twin: the same tasks, mixtures, laws and steps of the way.

    Its sizes are the smallest of the ladder in the same order, or the same depths
    around a small model; its text is synthetic where the tasks have one source
    language, as the synthetic source wants, and otherwise the experiment's own.
    Its losses mean nothing.
    """
    names = _sizes(experiment.train.sizes)
    held_out = experiment.fit.held_out
    mixtures = len(experiment.train.mixtures)
    return dataclasses.replace(
        experiment,
        name=f"{experiment.name}_small",
        ingest=_text(experiment),
        tokenize=dataclasses.replace(
            experiment.tokenize,
            vocabulary_size=min(experiment.tokenize.vocabulary_size, 280),
            source_length=_LENGTH,
            target_length=_LENGTH,
        ),
        train=dataclasses.replace(
            experiment.train,
            sizes=tuple(names.values()),
            steps=_STEPS,
            steps_by_size={},
            batch_tokens=_BATCH_TOKENS,
            warmup_steps=_STEPS // 4,
            evaluations=3,
            strategy="default",
            stack=min(mixtures, 10),
            jit="off",
        ),
        fit=dataclasses.replace(
            experiment.fit,
            draws=100,
            held_out=dataclasses.replace(
                held_out, sizes=tuple(names[n] for n in held_out.sizes if n in names)
            ),
        ),
    )


def _sizes(names: tuple[str, ...]) -> dict[str, str]:
    """Size -> its size in the twin; without those that are too deep for one."""
    if all(name in SHAPES for name in names):
        return dict(zip(names, (shape.name for shape in LADDER), strict=False))
    layers = {
        name: get_shape(name).enc_layers + get_shape(name).dec_layers for name in names
    }
    return {
        name: f"{name.partition('@')[0]}@{_BASE}"
        for name in names
        if layers[name] <= _MAX_LAYERS
    }


def _text(experiment: Experiment) -> ingest.Config:
    sources = {task.partition("-")[0] for task in experiment.tasks}
    if len(sources) > 1:
        return dataclasses.replace(experiment.ingest, test_sentences=100, shards=4)
    synthetic = SyntheticConfig(train_sentences=3000, test_sentences=100)
    return ingest.Config(source="synthetic", synthetic=synthetic, test_sentences=100)
