"""Event files, read by TensorBoard itself."""

from tensorboard.backend.event_processing.plugin_event_accumulator import (
    EventAccumulator,
)
from tensorboard.util import tensor_util

from components.artifacts.trial_folder import TENSORBOARD


def accumulated(folder, trial):
    """All events of a trial."""
    reader = EventAccumulator(str(folder / trial.id / TENSORBOARD))
    return reader.Reload()


def scalars(folder, trial, tag):
    """Events of one scalar, in order."""
    return accumulated(folder, trial).Tensors(tag)


def values(folder, trial, tag):
    """Step -> value of one scalar."""
    return {
        event.step: float(tensor_util.make_ndarray(event.tensor_proto))
        for event in scalars(folder, trial, tag)
    }
