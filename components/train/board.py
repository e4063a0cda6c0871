"""TensorBoard events of one trial, as a file of our own.

An event file is a TFRecord file of ``Event`` messages. Writing it here, and not
through TensorFlow, means that a full disk is an error with a name, and that what a
killed process had logged after its last checkpoint is taken back on resuming: a
session that starts at a step makes TensorBoard drop the later ones before it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import (
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)
from tensorboard.summary.writer.record_writer import RecordWriter

_SCALARS = summary_pb2.SummaryMetadata(
    plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="scalars"),
    data_class=summary_pb2.DATA_CLASS_SCALAR,
)
_STATUS = {"done": api_pb2.STATUS_SUCCESS, "failed": api_pb2.STATUS_FAILURE}


class Board:
    """Writes the events of one trial.

    Args:
      directory: Its TensorBoard folder.
      step: The step that training starts from; 0 forgets all earlier events.
    """

    def __init__(self, directory: Path, step: int = 0):
        directory.mkdir(parents=True, exist_ok=True)
        if not step:
            for old in directory.glob("events.out.tfevents.*"):
                old.unlink()
        name = f"events.out.tfevents.{time.time_ns() // 1000:d}.{os.getpid()}"
        self._path = directory / name
        self._write(event_pb2.Event(file_version="brain.Event:2"))
        if step:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            # Events at the step itself were written before its checkpoint.
            self._write(event_pb2.Event(step=step + 1, session_log=start))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes scalars at a step."""
        found = [
            summary_pb2.Summary.Value(
                tag=name,
                metadata=_SCALARS,
                tensor=tensor_pb2.TensorProto(
                    dtype=types_pb2.DT_FLOAT, float_val=[value]
                ),
            )
            for name, value in values.items()
        ]
        self._summary(step, found)

    def start(
        self, trial: str, values: Mapping[str, float | str], metrics: Sequence[str]
    ) -> None:
        """Makes the trial a row of the HParams table.

        Args:
          trial: Its name.
          values: What it was told: size, N, weights, seed, ...
          metrics: Scalars to show beside them.
        """
        info = SessionStartInfo(group_name=trial, start_time_secs=time.time())
        columns = []
        for name, value in values.items():
            text = isinstance(value, str)
            field = "string_value" if text else "number_value"
            setattr(info.hparams[name], field, value)
            kind = api_pb2.DATA_TYPE_STRING if text else api_pb2.DATA_TYPE_FLOAT64
            columns.append(api_pb2.HParamInfo(name=name, type=kind))
        experiment = api_pb2.Experiment(
            hparam_infos=columns,
            metric_infos=[
                api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metrics
            ],
        )
        self._hparams(metadata.EXPERIMENT_TAG, HParamsPluginData(experiment=experiment))
        self._hparams(
            metadata.SESSION_START_INFO_TAG, HParamsPluginData(session_start_info=info)
        )

    def end(self, status: str) -> None:
        """Notes how the trial ended, ``done`` or ``failed``."""
        info = SessionEndInfo(status=_STATUS[status], end_time_secs=time.time())
        self._hparams(
            metadata.SESSION_END_INFO_TAG, HParamsPluginData(session_end_info=info)
        )

    def _hparams(self, tag: str, data: HParamsPluginData) -> None:
        value = summary_pb2.Summary.Value(
            tag=tag,
            metadata=metadata.create_summary_metadata(data),
            tensor=metadata.NULL_TENSOR,
        )
        self._summary(0, [value])

    def _summary(self, step: int, values: Sequence[summary_pb2.Summary.Value]) -> None:
        self._write(
            event_pb2.Event(step=step, summary=summary_pb2.Summary(value=values))
        )

    def _write(self, event: event_pb2.Event) -> None:
        event.wall_time = time.time()
        # Seldom enough to open the file each time; whoever watches sees it at once.
        with open(self._path, "ab") as file:
            RecordWriter(file).write(event.SerializeToString())
