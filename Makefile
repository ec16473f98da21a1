# Everything runs in .venv, made from the lock in requirements/. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
LOCK := pyproject.toml requirements/install.sh requirements/uv.txt

.PHONY: run test check format bench soak lock docs pictures help clean

run: .venv/.server ## Start everything here, in the foreground: HOST, PORT and GPULAYER_DATA choose where
	@GPULAYER_END_WITH_PARENT=1 exec $(BIN)/gpulayer up

test: .venv/.dev ## Run every test that this machine allows, and say loudly what was left out
	@$(BIN)/python tests/run.py

soak: .venv/.dev ## Run the whole counts that are too long for every day
	@$(BIN)/python tests/run.py --soak

check: .venv/.dev ## Format, lint, types, import contracts, migrations, templates, lock and generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	GPULAYER_DATA=$$(mktemp -d) $(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/djlint --lint templates --quiet
	$(BIN)/python requirements/lock.py check
	$(BIN)/python docs/generate.py check

format: .venv/.dev ## Put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev ## Figures: decisions a second, memory, bytes stored, logs, starts, pages. TRACE=<folder of documents>, QUICK=1, PART=deciding|storing|logs|starting|pages
	$(BIN)/python -m benchmarks $(if $(TRACE),--trace "$(TRACE)") $(if $(QUICK),--quick) $(if $(PART),--part $(PART))

docs: .venv/.dev ## Write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py write

pictures: .venv/.dev ## Take the pictures of docs/ anew, of a demo fleet of 1,200 workers
	$(BIN)/python -m tests.browser.shots docs/pictures --docs

lock: .venv/.dev ## Resolve requirements/ anew after a change in pyproject.toml
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python requirements/lock.py write

clean: ## Remove what can be made again; the data folder stays
	rm -rf .venv .venv-torch .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.server: requirements/server.txt $(LOCK)
	@requirements/install.sh server
	@touch $@

.venv/.dev: requirements/dev.txt requirements/server.txt $(LOCK)
	@requirements/install.sh dev
	@touch .venv/.server $@
