"""The package; also what Beam's remote workers install (``--setup_file``)."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
VERSION_FILE = ROOT / "components" / "version.py"

# Fitting laws to a table of one's own needs these and nothing more.
CORE = ["numpy>=2.0", "scipy>=1.13", "pyyaml>=6.0", "matplotlib>=3.9", "jinja2>=3.1"]

EXTRAS = {
    # Training and evaluation on the CPU or GPU build of TensorFlow. An image for
    # TPUs brings its own build and leaves this extra out.
    "cpu": [
        "tensorflow>=2.20,<2.22",
        "keras>=3.15,<4",
        "keras-hub>=0.32,<0.33",
        "tensorboard>=2.20,<2.22",  # tf.summary is empty without it
        "tensorflow-text>=2.20,<2.22",
        "tensorflow-datasets>=4.9,<5",
    ],
    "data": [
        "apache-beam>=2.77,<3",
        "charset-normalizer>=3.3",
        "lxml>=5",
        "py3langid>=0.4",
        "pyarrow>=16",
        "sentencepiece>=0.2.1",
        "zstandard>=0.22",
    ],
    "evaluate": ["ctranslate2>=4.8,<5", "sacrebleu>=2.6,<3"],
    "kubeflow": ["kfp>=2.17,<2.17.3"],
}
EXTRAS["all"] = sorted({name for extra in EXTRAS.values() for name in extra})
# Large, and for particular places only: not in "all".
EXTRAS["comet"] = ["unbabel-comet>=2.2"]
EXTRAS["huggingface"] = ["datasets>=2.19"]
EXTRAS["gcp"] = ["apache-beam[gcp]>=2.77,<3"]
EXTRAS["aws"] = ["apache-beam[aws]>=2.77,<3"]
EXTRAS["dev"] = EXTRAS["all"] + ["hypothesis", "mypy", "pytest", "pytest-xdist", "ruff"]


def _version() -> str:
    text = VERSION_FILE.read_text(encoding="utf-8")
    return re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE).group(1)


def _readme() -> str:
    path = ROOT / "README.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


setup(
    name="polyscale",
    version=_version(),
    description="Scaling laws for multilingual translation: from text to weights",
    long_description=_readme(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.13",
    packages=[
        *find_packages(
            include=[
                "models",
                "models.*",
                "components",
                "components.*",
                "pipeline",
                "pipeline.*",
            ]
        ),
        "configs",
    ],
    package_data={
        "configs": ["*.yaml"],
        "components.report": ["*.html", "style.css"],
    },
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["polyscale=pipeline.cli:main"]},
)
