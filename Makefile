# make demo    sets everything up in .venv-<version>, installs minidynamo there and runs the digits example
# make test    the same, and runs the tests of the core and of the package
# Both take PYTHON=python3.12 (a name or a path); make test takes PYTEST_ARGS, and EXTRAS=test,oracles, which brings PyTorch.
PYTHON ?= python3
PYTEST_ARGS ?=
EXTRAS ?= test

.PHONY: demo test format clean

demo: export MINIDYNAMO_CORE_TESTS ?= OFF
demo:
	venv=$$(tools/install.sh "$(PYTHON)") && "$$venv/bin/python" examples/digits/demo.py

test:
	venv=$$(tools/install.sh "$(PYTHON)" "$(EXTRAS)") && \
	"$$PWD/.venv-build/bin/ctest" --test-dir build/core --output-on-failure && \
	"$$venv/bin/python" -m pytest $(PYTEST_ARGS)

format:
	tools/lint.sh --fix

clean:
	rm -rf build dist .venv-*
