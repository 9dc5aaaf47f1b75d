# make demo: set up, embed the example sentences, show what one word means where, export the model.
#  make test: set up, lint and test.
#  make test-lowest: the same tests with the lowest versions that pyproject.toml allows.
#  make fuzz MINUTES=20: random cases until the time is over; findings are printed.
#  make docs: build the documentation in site/, strictly; make docs-serve: show it in a browser.
#  make browser: the page of examples/browser at http://127.0.0.1:8000/.
PYTHON ?= python3
BIN = .venv/bin
MINUTES ?= 20
BROWSER = .venv/browser/elmo.tflite
SOURCES = pyproject.toml setup.py README.md LICENSE \
	$(shell find keras_elmo keras_elmo_cli lite -type f -not -name '*.pyc' -not -path '*/build/*' -not -path '*.egg-info/*')

.PHONY: demo test test-lowest slow-test fuzz docs docs-serve browser clean

# The wheel is installed, not the checkout: what it lacks is missed here too. What an earlier build left
# would be in the wheel, also where its source has gone.
.venv/demo-installed .venv/installed: $(SOURCES)
	rm -rf build lite/build
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(findstring demo,$@),.,".[test]" ./lite)
	touch $@

# "name>=1.2,<2" among the dependencies becomes "name==1.2".
.venv-lowest/installed: $(SOURCES)
	rm -rf build lite/build
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	sed -nE '/^dependencies/,/^]/s/^ *"([a-z0-9-]+)>=([0-9.]+).*/\1==\2/p' pyproject.toml \
		> .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .venv-lowest/constraints.txt ".[test]"
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall . ./lite
	touch $@

# Without what tests need, unless that is there.
demo: $(if $(wildcard .venv/installed),.venv/installed,.venv/demo-installed)
	mkdir -p demo
	$(BIN)/keras-elmo info tiny
	$(BIN)/keras-elmo embed examples/data/sentences.txt -o demo/vectors.hdf5 --model tiny --overwrite
	$(BIN)/python examples/polysemy.py
	$(BIN)/keras-elmo export tiny saved_models/elmo --overwrite

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2 --dist worksteal

test-lowest: .venv-lowest/installed
	.venv-lowest/bin/pytest -n 2 --dist worksteal

.venv/mlserver-installed: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[mlserver]"
	touch $@

slow-test: .venv/mlserver-installed
	$(BIN)/pytest -n 2 --dist worksteal -m slow

fuzz: .venv/installed
	$(BIN)/python fuzz --minutes $(MINUTES)

.venv/docs-installed: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[docs]"
	touch $@

# The page, LiteRT.js and the model, which is written last, in one folder. npm fetches LiteRT.js.
$(BROWSER): .venv/installed $(wildcard examples/browser/*.*)
	$(BIN)/python examples/browser/build.py $(@D)

browser: $(BROWSER)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(dir $(BROWSER)) 8000

# Without npm the site is built without the live page.
docs: .venv/docs-installed $(if $(shell command -v npm 2>/dev/null),$(BROWSER))
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: .venv/docs-installed $(if $(shell command -v npm 2>/dev/null),$(BROWSER))
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

clean:
	rm -rf site .venv .venv-lowest build lite/build demo *.egg-info lite/*.egg-info
