# make demo: set up, embed the example sentences, show what one word means where, export the model.
#  make test: set up, lint and test.
PYTHON ?= python3
BIN = .venv/bin
SOURCES = pyproject.toml setup.py README.md LICENSE $(shell find keras_elmo -type f -not -name '*.pyc')

.PHONY: demo test slow-test clean

# The wheel is installed, not the checkout: what it lacks is missed here too.
.venv/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[test]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall .
	touch $@

demo: .venv/installed
	mkdir -p demo
	$(BIN)/keras-elmo info tiny
	$(BIN)/keras-elmo embed examples/data/sentences.txt -o demo/vectors.hdf5 --model tiny --overwrite
	$(BIN)/python examples/polysemy.py
	$(BIN)/keras-elmo export tiny saved_models/elmo --overwrite

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2

slow-test: .venv/installed
	$(BIN)/pytest -m slow

clean:
	rm -rf .venv build demo *.egg-info
