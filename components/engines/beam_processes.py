"""Beam's local runner, with the project's own command for worker processes."""

from __future__ import annotations

import os
from typing import Any

from apache_beam.portability.python_urns import SUBPROCESS_SDK
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from components.engines import beam_worker

_BEAMS_OWN = b"apache_beam.runners.worker.sdk_worker_main"


class LocalRunner(FnApiRunner):
    """The FnApiRunner with the worker processes of `engines.beam_worker`."""

    def run_via_runner_api(self, pipeline_proto: Any, options: Any) -> Any:
        """Runs a pipeline; called by Beam with the pipeline and its options."""
        own = beam_worker.__name__.encode()
        os.environ[beam_worker.PARENT] = str(os.getpid())
        for environment in pipeline_proto.components.environments.values():
            if environment.urn == SUBPROCESS_SDK:
                # The shell that Beam starts becomes the worker, a child of ours.
                command = environment.payload.replace(_BEAMS_OWN, own)
                environment.payload = b"exec " + command
        return super().run_via_runner_api(pipeline_proto, options)
