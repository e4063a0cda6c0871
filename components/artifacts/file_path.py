"""The type of a path in an experiment file."""

from typing import Annotated

# Relative to the experiment file; with ``--set``, to where the person stands.
FilePath = Annotated[str, "path"]
