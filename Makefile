# make demo    run the example notebooks and print what they found
# make lab     open JupyterLab with its panel on the tour, among the examples
# make test    lint, types, and all tests but the slow ones
# make test-all  the slow ones, too: PySpark's own doctests, notebooks, a cluster, every page in the browser; an hour and more. CI runs it
# make bench   measure, e.g. make bench ARGS="P1 --scale small"
# make clean   remove everything that these commands made
# make panel   build the JupyterLab panel and the widgets, so that the next wheel has them
#
# All of it happens in .venv and in node_modules; Python 3.10 or newer and Java 17 or 21 are enough to start with. The panel is built
# where there is Node 20 or newer; where there is none, all the rest works without it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# A host name that resolves nowhere, or to an address that is gone, must not stop Spark from starting.
export SPARK_LOCAL_IP ?= 127.0.0.1
# The PySpark of .venv brings its own jars; with another installation's it fails in ways that name neither.
unexport SPARK_HOME
# IPython warns of an environment that is active and is not its own.
unexport VIRTUAL_ENV

# Where there is Node, what is built with it; on CI there has to be.
NODE := $(if $(CI),node,$(shell command -v node))
PANEL := labextension/dist/package.json
# Its builder is a Python package; one .venv is enough for what is asked.
BUILDER := $(VENV)/.has-$(if $(filter test%,$(MAKECMDGOALS)),test,examples)

# `make test` leaves out what takes long, and draws fewer programs; `make test-all` runs a tenth more of each large family of programs, which one hangs
# on the commit (0/10 would be those of `make test` alone), so that a slow machine is done within CI's time. Asked for by itself, each part is whole.
SOME := $(filter test,$(MAKECMDGOALS))
ifeq ($(filter test-all,$(MAKECMDGOALS))$(origin BIGDEBUG_TEST_TURN),test-allundefined)
export BIGDEBUG_TEST_TURN := $(shell echo $$((0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0) % 9 + 1)))/10
endif

.PHONY: demo lab test test-all test-python test-cluster test-panel test-browser panel bench clean doctor

demo: $(VENV)/.has-examples
	$(BIN)/python examples/run_demo.py

lab: $(VENV)/.has-examples $(if $(NODE),panel)
	@$(if $(NODE),:,echo "There is no Node on the PATH, so JupyterLab opens without bigdebug's panel." >&2)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab --ServerApp.root_dir=examples --LabApp.default_url=/lab/tree/tour.ipynb $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

test test-all: test-python $(if $(SOME),,test-cluster) $(if $(NODE),test-panel test-browser)
	@$(if $(NODE),:,echo "There is no Node on the PATH, so JupyterLab's panel was not tested." >&2)

# What the JVMs of tests share, so that they start in half the time.
QUICK := SPARK_SUBMIT_OPTS="$$($(BIN)/python -m tests.jvm)"

# What the JVMs share is made on one core while the other checks the types.
test-python: $(VENV)/.has-test $(if $(NODE),panel)
	$(BIN)/ruff check .
	@$(BIN)/python -m tests.jvm > /dev/null & echo $(BIN)/mypy; $(BIN)/mypy; checked=$$?; wait && exit $$checked
	$(QUICK) $(if $(SOME),LAW_EXAMPLES=5) $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(if $(SOME),-m "not slow")

# On executors that are processes of their own: faults, and the laws of capture, strategies and recomputation.
test-cluster: $(VENV)/.has-test
	$(QUICK) BIGDEBUG_TEST_MASTER=standalone $(BIN)/python -m pytest tests/cluster
	$(QUICK) BIGDEBUG_TEST_MASTER='local-cluster[2,1,1024]' $(BIN)/python -m pytest tests/laws/test_laws.py tests/laws/test_sql_laws.py -k "_1_ or _5_ or _6_"

test-panel: panel
	cd labextension && npm run --silent check && npm run --silent test

# The browser is Debian's, or the one that CHROMIUM names.
test-browser: $(VENV)/.has-test panel tests/browser/node_modules/.package-lock.json
	@tests/browser/chromium
	cd tests/browser && npm run --silent check && cd "$(CURDIR)" && $(QUICK) PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent --prefix tests/browser test $(if $(SOME),-- tour)

panel: $(PANEL)
	@mkdir -p $(VENV)/share/jupyter/labextensions
	@ln -sfn "$(CURDIR)/labextension/dist" $(VENV)/share/jupyter/labextensions/bigdebug

$(PANEL): labextension/node_modules/.package-lock.json $(wildcard labextension/*.json labextension/*.mts labextension/src/* labextension/src/*/* labextension/style/*) | $(BUILDER)
	cd labextension && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build
	@touch $@

# What the lock file says, and nothing newer.
%/node_modules/.package-lock.json: %/package-lock.json
	@echo "Installing what $* needs from the npm registry; the first time takes a minute."
	@cd $* && npm ci --silent
	@touch $@

bench: $(VENV)/.has-test
	$(BIN)/python -m benchmarks $(ARGS)

# An editable install leaves data_files out, so the kernelspec is put in place by itself.
$(VENV)/.has-%: setup.py pyproject.toml kernel/kernelspec/kernel.json | doctor
	@echo "Installing bigdebug[$*] into $(VENV); the first time takes a few minutes."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)  # over one of another Python it would make neither
	@$(BIN)/python -m pip install -qq --editable '.[$*]'
	@$(BIN)/jupyter-kernelspec install --log-level=WARN --sys-prefix --name bigdebug kernel/kernelspec
	@touch $@

doctor:
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)' on the PATH: install Python 3.10 or newer, or name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) tools/doctor.py

clean:
	rm -rf bigdebug/views/static labextension/dist labextension/lib labextension/node_modules tests/browser/node_modules tests/browser/pictures tests/browser/test-results
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse examples/spark-warehouse
	find . -name node_modules -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
