# make demo    run the example notebooks and print what they found
# make test    lint, types, all tests; what CI runs
# make bench   measure, e.g. make bench ARGS="P1 --scale small"
# make clean   remove everything that these commands made
#
# All of it happens in .venv; Python 3.10 or newer and Java 17 or 21 are enough to start with.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# A host name that resolves nowhere, or to an address that is gone, must not stop Spark from starting.
export SPARK_LOCAL_IP ?= 127.0.0.1
# The PySpark of .venv brings its own jars; with another installation's it fails in ways that name neither.
unexport SPARK_HOME
# IPython warns of an environment that is active and is not its own.
unexport VIRTUAL_ENV

.PHONY: demo test bench clean doctor

demo: $(VENV)/.has-examples
	$(BIN)/python examples/run_demo.py

test: $(VENV)/.has-test
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

bench: $(VENV)/.has-test
	$(BIN)/python -m benchmarks $(ARGS)

# An editable install leaves data_files out, so the kernelspec is put in place by itself.
$(VENV)/.has-%: setup.py pyproject.toml kernel/kernelspec/kernel.json | doctor
	@echo "Installing bigdebug[$*] into $(VENV); the first time takes a few minutes."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)  # over one of another Python it would make neither
	@$(BIN)/python -m pip install -qq --editable '.[$*]'
	@$(BIN)/python -m jupyter kernelspec install --log-level=WARN --sys-prefix --name bigdebug kernel/kernelspec
	@touch $@

doctor:
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)' on the PATH: install Python 3.10 or newer, or name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) tools/doctor.py

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse examples/spark-warehouse
	find . -name node_modules -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
