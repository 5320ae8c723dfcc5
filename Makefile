# One way in: make run, make test, make check, make bench. `make help` lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
PY := .venv/bin/python
PYTEST_ARGS ?=

.PHONY: help run setup setup-dev test soak check bench clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: setup  ## set up what is missing, then start everything on 127.0.0.1:8000
	@exec $(PY) manage.py up

setup:  ## make .venv with the locked packages, and the static files
	@sh .ci/setup run

setup-dev:
	@sh .ci/setup dev

test: setup-dev  ## every test (installs a browser, Redis and PostgreSQL where it may)
	@sh .ci/packages
	@$(PY) -m pytest $(PYTEST_ARGS) || exec sh .ci/again $$? $(PY)

soak: setup-dev  ## the kill and scale suites with full counts
	@sh .ci/packages
	@exec env JENNY_SOAK=1 $(PY) -m pytest -m "soak or not soak" $(PYTEST_ARGS)

check: setup-dev  ## lint, types, templates, arrows
	@sh .ci/check

bench: setup-dev  ## the benchmarks, beside their peers
	@exec $(PY) -m bench

clean:  ## take away .venv and build/ (never data/)
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
