# Beskar7: `make help` lists what there is.
#
# Needs Rust (rustup fetches the toolchain of rust-toolchain.toml), Go (the real Kubernetes and Cluster
# API components of the tests are built from their released modules), Python with venv (what others wrote
# to speak Redfish), a C compiler (ring, jemalloc and the agent's decompressors are C), make and bash.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Cargo compiles dependencies again for every set of packages with other features. So there are two sets
# only: the programs by themselves, and for the tests everything at once.
EVERYTHING := --workspace --all-features
PROGRAMS ?= -p beskar7-controllers -p beskar7-e2e --bins
UNIT_TESTS := $(patsubst %.rs,--test %,$(notdir $(filter-out e2e/%,$(wildcard */tests/*.rs */*/tests/*.rs))))
E2E_TESTS := $(patsubst %.rs,--test %,$(notdir $(wildcard e2e/tests/*.rs)))

# Absolute: tests run in the folders of their crates.
STATIC_AGENT = $$(realpath -m "$${CARGO_TARGET_DIR:-target}/$(STATIC_TARGET)/release/beskar7-agent")

E2E = $${CARGO_TARGET_DIR:-target}/debug/e2e

##@ Everyday

.PHONY: help
help: ## What there is
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5); next } \
	  /^[a-z][a-z-]*:.*## / { printf "  %-16s %s\n", $$1, $$2; next } \
	  /^[A-Z_0-9]+ \?=.*##/ { split($$0, a, / *\?=|##/); printf "  %-16s %s\n", a[1], a[3] }' $(MAKEFILE_LIST)

.PHONY: demo
demo: release ## Cluster API, our manager and simulated servers on this machine: a cluster comes up and scales; Ctrl-C ends it
	@exec $(E2E) demo

.PHONY: build
build: need-rust ## Compile everything
	$(CARGO) build $(LOCKED) $(EVERYTHING) --all-targets

.PHONY: crds
crds: need-rust ## Write config/crd/bases from the Rust types in api/
	$(CARGO) run -q $(LOCKED) -p beskar7-api --features crdgen --bin crdgen

.PHONY: fmt
fmt: need-rust ## Format the Rust code
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path redfish/fuzz/Cargo.toml
	$(CARGO) fmt --manifest-path boot/fuzz/Cargo.toml

.PHONY: clean
clean: ## Remove target/, out/ and the built book; the cache of `tools` stays
	$(CARGO) clean
	rm -rf $(OUT) docs/book

##@ Tests

.PHONY: test
test integration leader-kills host-kills firmware network-boot agent-vms demo-once: export PROGRAMS := $(EVERYTHING) --all-targets
test: need-rust ## All checks and tests that a change must pass
	@# Without Go, the components must be there already: better said now than in ten minutes.
	@command -v go >/dev/null || $(MAKE) tools
	@hack/stages lint deny unit tools release integration

.PHONY: lint
lint: need-rust ## Formatting and clippy; the decision crate also by itself
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path redfish/fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path boot/fuzz/Cargo.toml --check
	$(CARGO) clippy $(LOCKED) $(EVERYTHING) --all-targets -- -D warnings
	$(CARGO) clippy $(LOCKED) -p beskar7-core -- -D warnings

.PHONY: deny
deny: need-rust ## Licences, sources and banned crates, where cargo-deny is installed
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	  $(CARGO) deny $(LOCKED) check --hide-inclusion-graph bans licenses sources; \
	else \
	  why="cargo-deny is not installed: cargo install --locked cargo-deny"; \
	  echo "skipped: deny ($$why)"; \
	  if [ -n "$${STAGE_NOTE:-}" ]; then echo "skipped: $$why" >"$$STAGE_NOTE"; fi; \
	fi

.PHONY: unit
unit: need-rust ## Tests that need nothing but Rust
	$(CARGO) test $(LOCKED) $(EVERYTHING) --lib --bins $(UNIT_TESTS)

.PHONY: integration
integration: release ## Tests against the real Kubernetes and Cluster API components
	RUST_TEST_THREADS=$(E2E_THREADS) $(CARGO) test $(LOCKED) $(EVERYTHING) $(E2E_TESTS)

.PHONY: test-long
test-long: need-rust ## Everything that takes long: longer searches, fuzzing, image, kill matrix, real firmware, network boot, the agent on machines, the whole demo
	@hack/stages --keep-going --report $(OUT)/test-long.md test unit-long fuzz image-check leader-kills host-kills firmware network-boot agent-vms demo-once
	@echo "Written to $(OUT)/test-long.md. The last result worth keeping stands in docs/src/development/test-long.md."

.PHONY: unit-long
unit-long: need-rust
	$(CARGO) test $(LOCKED) $(EVERYTHING) --lib --bins $(UNIT_TESTS) -- --ignored

.PHONY: leader-kills
leader-kills: release
	@for run in $$(seq $(LEADER_KILLS)); do \
	  echo "-- failover, run $$run of $(LEADER_KILLS)"; \
	  $(CARGO) test -q $(LOCKED) $(EVERYTHING) --test manager failover::; \
	done

.PHONY: host-kills
host-kills: release
	$(CARGO) test $(LOCKED) $(EVERYTHING) --test manager killed_at_every -- --ignored

.PHONY: firmware
firmware: release ## Every layout of an image under UEFI and BIOS in QEMU, and a machine that the manager provisions
	RUST_TEST_THREADS=1 $(CARGO) test $(LOCKED) $(EVERYTHING) --test firmware -- --ignored --nocapture

.PHONY: network-boot
network-boot: release ## Real firmware boots from the network, by every way that it knows, in a network of its own
	RUST_TEST_THREADS=1 $(CARGO) test $(LOCKED) $(EVERYTHING) --test network_boot -- --include-ignored --nocapture

.PHONY: agent-vms
agent-vms: release static-agent ## The agent on machines in QEMU: inspects, wipes, installs, and what it installed runs; by itself, and by the manager
	BESKAR7_AGENT="$(STATIC_AGENT)" RUST_TEST_THREADS=1 \
	  $(CARGO) test $(LOCKED) $(EVERYTHING) --test agent --test disk_images -- --include-ignored --nocapture

.PHONY: demo-once
demo-once: release
	$(CARGO) test $(LOCKED) $(EVERYTHING) --test demo -- --ignored --nocapture

.PHONY: fuzz
fuzz: need-rust ## Feed the Redfish client, DHCP and TFTP with what nobody would send, where cargo-fuzz and a nightly are installed
	@hack/fuzz

.PHONY: bench-redfish
bench-redfish: need-rust ## What the Redfish client costs against simulated BMCs: out/bench-redfish.md
	$(CARGO) build $(LOCKED) --release -p beskar7-redfish-bench -p beskar7-redfish-sim --bins
	@mkdir -p $(OUT)
	@release="$${CARGO_TARGET_DIR:-target}/release"; \
	  "$$release/bench-redfish" --simulator "$$release/redfish-sim" --out $(OUT)/bench-redfish.md

.PHONY: bench-boot
bench-boot: bench-ranges bench-network bench-configurations ## What the boot server costs: images beside nginx, TFTP beside dnsmasq, DHCP for 5,000 hosts, 2,000 configurations at once: out/bench-boot*.md

.PHONY: bench-ranges
bench-ranges: need-rust
	$(CARGO) build $(LOCKED) --release -p beskar7-boot-bench --bins
	@mkdir -p $(OUT)
	@"$${CARGO_TARGET_DIR:-target}/release/bench-boot" --out $(OUT)/bench-boot.md

.PHONY: bench-network
bench-network: need-rust
	$(CARGO) build $(LOCKED) --release -p beskar7-boot-bench --bins
	@mkdir -p $(OUT)
	@"$${CARGO_TARGET_DIR:-target}/release/bench-boot" network --out $(OUT)/bench-boot-network.md

.PHONY: bench-configurations
bench-configurations: need-rust
	$(CARGO) build $(LOCKED) --release -p beskar7-controllers -p beskar7-e2e -p beskar7-redfish-sim --bins
	@mkdir -p $(OUT)
	@"$${CARGO_TARGET_DIR:-target}/release/e2e" bench-configurations --out $(OUT)/bench-boot-configurations.md

.PHONY: bench-agent
bench-agent: need-rust ## What it costs to install an image, beside curl and dd: out/bench-agent.md
	$(CARGO) build $(LOCKED) --release -p beskar7-agent-bench --bins
	@mkdir -p $(OUT)
	@"$${CARGO_TARGET_DIR:-target}/release/bench-agent" --place $(OUT) --out $(OUT)/bench-agent.md

.PHONY: bench
bench: need-rust ## What the manager costs with a thousand hosts, against a real API server: out/bench.md
	$(CARGO) build $(LOCKED) --release -p beskar7-controllers -p beskar7-e2e -p beskar7-redfish-sim --bins
	@mkdir -p $(OUT)
	@"$${CARGO_TARGET_DIR:-target}/release/e2e" bench --out $(OUT)/bench.md $(BENCH_FLAGS)

##@ Parts

.PHONY: tools
tools: manager ## Build etcd, Kubernetes and Cluster API, install the Redfish validators: into a cache
	$(E2E) tools

.PHONY: manager
manager: need-rust ## The manager, and the program behind `tools` and `demo`: target/debug
	$(CARGO) build $(LOCKED) $(PROGRAMS)

.PHONY: release
release: manager ## Write out/infrastructure-beskar7/<version>/ as clusterctl reads it
	@kubectl="$${KUBECTL:-$$($(E2E) tools path kubectl)}"; KUBECTL="$$kubectl" hack/release

.PHONY: static
static: need-rust ## One static manager binary: out/image/rootfs/manager
	RUSTFLAGS='-C target-feature=+crt-static' \
	  $(CARGO) build $(LOCKED) --release --target $(STATIC_TARGET) -p beskar7-controllers --bin manager
	install -D -m 0755 "$${CARGO_TARGET_DIR:-target}/$(STATIC_TARGET)/release/manager" $(OUT)/image/rootfs/manager

.PHONY: static-agent
static-agent: need-rust ## One static agent: target/<target>/release/beskar7-agent
	RUSTFLAGS='-C target-feature=+crt-static' \
	  $(CARGO) build $(LOCKED) --release --target $(STATIC_TARGET) -p beskar7-agent --bin beskar7-agent

.PHONY: ramdisk
ramdisk: need-rust ## The agent's ramdisk and ISO, from a distribution's KERNEL and MODULES: out/ramdisk
	@[ -n "$(KERNEL)" ] && [ -n "$(MODULES)" ] || { \
	  echo "Which kernel? On Debian: apt-get install linux-image-amd64 systemd-boot-efi, then" >&2; \
	  echo "  make ramdisk KERNEL=/boot/vmlinuz-<release> MODULES=/lib/modules/<release>" >&2; \
	  exit 1; }
	@$(MAKE) static-agent
	$(CARGO) build $(LOCKED) --release -p beskar7-ramdisk --bin ramdisk
	@"$${CARGO_TARGET_DIR:-target}/release/ramdisk" --agent "$(STATIC_AGENT)" --kernel "$(KERNEL)" --modules "$(MODULES)" \
	  $(if $(LOADER),--loader "$(LOADER)") $(if $(CA),--ca "$(CA)") --out $(OUT)/ramdisk $(RAMDISK_FLAGS)

.PHONY: image
image: static ## The container image, with docker, podman or buildah
	@hack/image build

.PHONY: image-check
image-check: image
	@hack/image check

.PHONY: book
book: ## The documentation as HTML: docs/book
	@if command -v mdbook >/dev/null; then mdbook build docs; else \
	  echo "mdbook is not installed: cargo install --locked mdbook" >&2; exit 1; fi

.PHONY: need-rust
need-rust:
	@command -v $(CARGO) >/dev/null || { \
	  echo "Rust is missing. Install it with rustup (https://rustup.rs); it fetches the toolchain of rust-toolchain.toml by itself." >&2; \
	  exit 1; }

##@ Variables (name=value behind make, or in the environment)

CARGO ?= cargo
# What the lock file says, or an error: a test must not choose other versions than the last one did.
LOCKED ?= --locked
OUT := out

# The workspace's version, as a release names it.
WORKSPACE_VERSION := v$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

RELEASE_VERSION ?= $(WORKSPACE_VERSION)##the version that `release` and `image` make
MANAGER_IMAGE ?= localhost/beskar7-manager:$(RELEASE_VERSION)##the image that a release refers to, host name included
IMAGE_ENGINE ?=##docker, podman or buildah; empty: the first that works
CA_BUNDLE ?=##a PEM file of public CAs to put into the image; empty: none
STATIC_TARGET ?= $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')##the target of `static` and of the agent: another architecture, or musl
KERNEL ?=##the kernel of `ramdisk`: a distribution's /boot/vmlinuz-<release>
MODULES ?=##its modules: /lib/modules/<release>, or a root that has it
LOADER ?=##systemd-boot for the ISO of `ramdisk`; empty: the installed one
CA ?=##the boot server's CA (PEM) to put into the ramdisk; empty: none
RAMDISK_FLAGS ?=##what `ramdisk` is told besides: --add-module NAME, --all-modules, --options '…'
E2E_THREADS ?= $(shell cores=$$(nproc); echo $$((cores < 4 ? cores : 4)))##how many integration tests run at once; most start a control plane
FUZZ_SECONDS ?= 120##how long each target of `fuzz` runs
FUZZ_TARGETS ?= resource texts dhcp tftp##what `fuzz` runs
FUZZ_TOOLCHAIN ?= nightly##the toolchain of `fuzz`
BENCH_FLAGS ?=##what `bench` is told besides: --hosts 100 --claims 50 --rounds 1, --tls
LEADER_KILLS ?= 20##how often `test-long` kills the leader
KUBECTL ?=##a kubectl to run kustomize with; empty: the one that `tools` builds

export CARGO OUT RELEASE_VERSION MANAGER_IMAGE IMAGE_ENGINE CA_BUNDLE FUZZ_SECONDS FUZZ_TARGETS FUZZ_TOOLCHAIN
