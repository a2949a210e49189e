# The developer's commands; `make` alone lists them. All but test-gpu use the .venv of this checkout,
# which is made when it is missing and updated when setup.cfg or pyproject.toml changed.
NP ?= 4
GPUS ?= 2
RANKS ?= $(shell seq -s, 1 $(GPUS))
ARGS ?=
OPENMPI := $(shell sed '/^\#/d' tools/openmpi.env)
IN_VENV = env $(OPENMPI) PATH="$(CURDIR)/.venv/bin:$$PATH"
TESTS = tools/run_tests.py
# A grid that converges in seconds, and whose exact field is known.
DEMO = --nx 256 --ny 256 --bc periodic --dtype float64 --niter 100000 --nccheck 2000 --variant blocked --verify analytic
SOLVE = mpirun -np $(NP) python -m apps.jacobi $(DEMO) --plot demo/jacobi.png --output demo/jacobi.h5

.PHONY: help dev demo test test-rest test-all test-gpu lint docs clean
.NOTPARALLEL:

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-zA-Z%-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

.venv/.ready-%: setup.cfg pyproject.toml tools/setup.sh
	@bash tools/setup.sh $*
	@touch $@

dev: .venv/.ready-demo,test,lint  ## set up everything

demo: .venv/.ready-demo  ## solve a Laplace problem on NP=4 ranks and draw it: a report, demo/jacobi.png and demo/jacobi.h5
	@mkdir -p demo
	@echo '$(SOLVE)'
	@$(IN_VENV) $(SOLVE)
	@printf '%s\n' '' 'Look at demo/jacobi.png, then type:' \
	    '  . .venv/bin/activate                                # puts python, mpirun and the commands on PATH' \
	    '  mpirun -np 2 python examples/first_allreduce.py     # the first of nine short programs: examples/README.md' \
	    '  mpirun -np 2 python -m apps.jacobi.textbook         # this solver in 100 lines' \
	    '  mpirun -np 2 python -m pennympi                     # what it runs on here'

test: .venv/.ready-test  ## the suite in one process, at 2 and 4 ranks, and over 2 hosts of 2 ranks (12 minutes on two cores)
	.venv/bin/python $(TESTS) -- $(ARGS)

test-rest: .venv/.ready-test  ## every other rank count and shape of hosts, slow tests, and everything at once for a minute
	.venv/bin/python $(TESTS) --rest -- $(ARGS)

test-all: test test-rest  ## both

test-gpu:  ## the suite with this shell's python3 and mpirun, at 1 to GPUS=2 ranks, or at RANKS, which may share a GPU
	python3 $(TESTS) --gpus $(GPUS) --ranks $(RANKS) -- $(ARGS)

test-%: .venv/.ready-test  ## every test with an mpi mark at that many ranks: make test-4 ARGS="-k ring"
	.venv/bin/python $(TESTS) --ranks $* -- $(ARGS)

lint: .venv/.ready-lint  ## ruff, mypy, who may import whom, and what is unused
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo
	.venv/bin/vulture

docs: .venv/.ready-docs,lint  ## the pages of docs/ as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

clean:  ## remove what was built (remove .venv by hand)
	rm -rf build dist demo site *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find apps kernels pennympi tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
