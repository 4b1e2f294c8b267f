# SPDX-License-Identifier: MIT
# One makefile for the whole tree. `make help` lists what it can do.
VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
VARIANT ?=
CC      ?= cc
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
CPUS    := $(shell nproc)
J       := -j $(CPUS)
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# A variant is the same sources with other flags, objects in their own folder.
B := build$(if $(VARIANT),/$(VARIANT))
ifeq ($(VARIANT),asan)
VFLAGS := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DSR_CHECKS
else ifeq ($(VARIANT),tsan)
CC     := clang
VFLAGS := -fsanitize=thread -DSR_CHECKS
else ifeq ($(VARIANT),tsan-mutant)
CC     := clang
VFLAGS := -fsanitize=thread -DSR_MUTANT_RELAXED
else ifeq ($(VARIANT),ct)
VFLAGS := -DSR_CT
else ifeq ($(VARIANT),ct-clang)
CC     := clang
VFLAGS := -DSR_CT -gdwarf-4 # what this valgrind reads
else ifeq ($(VARIANT),clang)
CC     := clang
else ifeq ($(VARIANT),cov)
VFLAGS := --coverage -O0
else ifeq ($(VARIANT),fuzz)
CC     := clang
VFLAGS := -fsanitize=fuzzer-no-link,address,undefined
else ifeq ($(VARIANT),aarch64)
CC     := aarch64-linux-gnu-gcc
endif

WARN     := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS   ?= -O2 -g
ALL_CFLAGS  := -std=c17 -D_GNU_SOURCE $(WARN) $(if $(WERROR),-Werror) -fPIC -fstack-protector-strong \
               $(CFLAGS) $(VFLAGS)
ALL_LDFLAGS := $(LDFLAGS) $(VFLAGS) -Wl,-z,relro,-z,now

# Layers: each may include what stands to its left, and nothing else.
I_core    := -Iring/core
I_session := $(I_core) -Iring/session
I_order   := $(I_session) -Iring/order
I_client  := $(I_order) -Iring/client
I_line    := $(I_order) -Iring/line
I_signer  := $(I_order) -Isigner
I_agent   := $(I_core) -Ihost_agent
I_shim    := $(I_client) -Iring/line -Isigner -Ihost_agent -Ienclave_shim
I_bench   := $(I_client) -Iring/line -Ibench
I_tests   := $(I_shim) -Ibench -Itests

glob     = $(patsubst $(1)/%.c,%,$(wildcard $(1)/$(2).c))
in       = $(call glob,$(1),*)
CORE    := $(call in,ring/core)
ATTEST  := sr_cose sr_attest sr_attest_chain sr_setup sr_trust # need libcbor, which the image does without
SESSION := $(filter-out $(ATTEST),$(call in,ring/session))
ORDER   := $(call in,ring/order) # a venue is a pair of files and a row
CLIENT  := $(call in,ring/client)
LINE    := $(call in,ring/line)
CLEAR   := sr_core_clear # sessions in clear, which the image does without
SIGNER  := $(filter-out $(CLEAR),$(call in,signer))
HOST    := sr_config sr_host
AGENT   := sr_agent sr_agent_attach sr_agent_loop sr_agent_note sr_agent_options sr_agent_relay sr_agent_session sr_agent_status sr_agent_stream sr_agent_trace \
           sr_agent_users sr_heartbeat sr_stream sr_stream_uring
TUNE    := sr_cpus sr_tune_host sr_tune_item sr_tune_isolation sr_tune_power sr_tune_kernel sr_tune_machine \
           sr_tune_check sr_tune_record sr_tune_apply sr_tune_pin sr_tune_c2c sr_tune_jitter
SHIM    := sr_boot sr_getrandom sr_hazard sr_heap sr_porter sr_porter_loop sr_porter_status sr_post sr_refill sr_signer sr_textfile sr_thread sr_timestamp
SERVE   := sr_confine sr_serve sr_serve_main
GROUND_enclave := sr_ground_enclave sr_nsm sr_nsm_message
GROUND_host := sr_ground_host sr_mock_nsm sr_keyfile
CTL     := sr_account sr_eif sr_ctl_attest sr_ctl_pcrs sr_ctl_file sr_ctl_key sr_ctl_session sr_ctl_vault sr_ctl_manifest sr_ctl_operator \
           sr_ctl_policy sr_ctl_status sr_ctl_vault_enclave sr_ctl_vault_key sr_ctl_vault_say sr_pairfile_operator
REPLAY  := sr_verify sr_histogram sr_offline $(call glob,bench,sr_replay_*)
LOAD    := $(call glob,bench,sr_load_*)

objects   = $(patsubst %,$(B)/$(1)/%.o,$(2))
O_core   := $(call objects,ring/core,$(CORE))
O_order  := $(call objects,ring/session,$(SESSION)) $(call objects,ring/order,$(ORDER))
O_attest := $(call objects,ring/session,$(ATTEST))
O_client := $(O_core) $(O_order) $(O_attest) $(call objects,ring/client,$(CLIENT))
O_sealed := $(call objects,signer,$(SIGNER))
O_signer := $(O_sealed) $(call objects,signer,$(CLEAR))
O_host   := $(call objects,host_agent,$(HOST))
O_agent  := $(O_host) $(call objects,host_agent,$(AGENT))
O_tune   := $(call objects,host_agent,$(TUNE))
O_shim   := $(call objects,enclave_shim,$(SHIM))
O_line   := $(call objects,ring/line,$(LINE))
O_replay := $(call objects,bench,$(REPLAY)) $(O_line)
O_load   := $(call objects,bench,$(LOAD))
O_offline := $(O_sealed) $(call objects,enclave_shim,sr_keyfile)

SO       := libsigring.so.0
PROGRAMS := sigring-agent sigring-enclave sigring-local sigring-signer sigring-tune sigringctl sigring-replay
L_core   := -lnuma -lpthread
L_signer := -lcrypto $(L_core)
L_client := -lcbor $(L_signer)
L_crypto := -lsecp256k1
L_agent  := -luring

tests_of = $(sort $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/$(1)_*.c)))
UNIT    := $(call tests_of,test)
MP      := $(call tests_of,mp)
STRESS  := $(call tests_of,stress)
CT      := $(call tests_of,ct)
FUZZ    := $(call tests_of,fuzz)
EXP     := $(call glob,bench,sr_exp*) # of bench/exp01
BENCH   := $(sort $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/bench_*.c)))

.PHONY: all
all: $(addprefix $(B)/,$(PROGRAMS) libsigring.a $(SO)) ## every program and the library

$(B)/sigring-agent: $(call objects,host_agent,sigring_agent) $(O_agent) $(O_core)
$(B)/sigring-agent: LIBS := $(L_agent) $(L_core)
$(B)/sigring-tune: $(call objects,host_agent,sigring_tune) $(O_tune) $(O_host) $(O_core)
$(B)/sigring-tune: LIBS := $(L_core)
O_enclave := $(call objects,enclave_shim,sigring_enclave $(SERVE) $(GROUND_enclave)) $(O_shim) $(O_host) $(O_sealed) $(O_order) $(O_core)
$(B)/sigring-enclave: $(O_enclave)
$(B)/sigring-enclave: LIBS := $(L_crypto) $(L_signer)
$(B)/sigring-signer: $(call objects,enclave_shim,sigring_signer $(SERVE) $(GROUND_host)) $(O_shim) $(O_host) $(O_signer) $(O_attest) $(O_order) $(O_core)
$(B)/sigring-signer: LIBS := $(L_crypto) $(L_client)
$(B)/sigring-local: LIBS := $(L_crypto) $(L_agent) $(L_client)
$(B)/sigring-local: $(call objects,enclave_shim,sigring_local sr_local $(GROUND_host)) $(O_shim) $(O_agent) $(O_signer) $(O_attest) $(O_order) $(O_core)
O_sigringctl := $(call objects,enclave_shim,sigringctl $(CTL) sr_keyfile sr_heap sr_getrandom) $(O_line) $(O_signer) $(O_attest) $(O_client)
$(B)/sigringctl: $(O_sigringctl)
$(B)/sigringctl: LIBS := $(L_crypto) -ljansson $(L_client)
O_sigring_replay := $(call objects,bench,sigring_replay) $(O_replay) $(O_offline) $(B)/libsigring.a
$(B)/sigring-replay: $(O_sigring_replay)
$(B)/sigring-replay: LIBS := $(L_crypto) -ljansson $(L_client) -lm

# The same two, and an engine, for the tests with QEMU's emulated security module, whose documents are not signed.
EMULATED := $(addprefix $(B)/emulated/,sigringctl sigring-replay engine)
$(B)/emulated/libemulated.a: $(B)/tests/emulated_nsm.o
	@mkdir -p $(@D)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(B)/emulated/sigringctl: $(O_sigringctl) $(B)/emulated/libemulated.a
$(B)/emulated/sigring-replay: $(O_sigring_replay) $(B)/emulated/libemulated.a
$(B)/emulated/engine: $(B)/tests/guest/engine.o $(B)/bench/sr_verify.o $(B)/libsigring.a $(B)/emulated/libemulated.a
$(EMULATED): LIBS := -Wl,--wrap=sr_attest_document $(L_crypto) -ljansson $(L_client) -lm

$(addprefix $(B)/,$(PROGRAMS)) $(EMULATED):
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# What an enclave image holds: no library comes from elsewhere.
STATIC := $(addprefix $(B)/static/,sigring-init sigring-enclave)
O_init := $(call objects,enclave_shim,sigring_init sr_nsm sr_nsm_message) $(B)/ring/session/sr_secret.o
$(B)/static/sigring-init: $(O_init)
$(B)/static/sigring-enclave: $(O_enclave)
$(B)/static/sigring-enclave: LIBS := $(L_crypto) $(L_signer)
$(STATIC):
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -static-pie -Wl,--gc-sections,--no-warnings,--build-id=none -s -o $@ $^ $(LIBS)

.PHONY: eif
eif: $(STATIC) $(B)/sigringctl ## enclave image build/sigring.eif (KERNEL= MODULES= OPERATORS= OPERATORS_NEEDED= MANIFEST=; see docs/nitro.md)
	$(Q)BUILD=$(B) VERSION=$(VERSION) KERNEL="$(KERNEL)" MODULES="$(MODULES)" MODULE_FILES="$(MODULE_FILES)" \
		OPERATORS="$(OPERATORS)" OPERATORS_NEEDED="$(OPERATORS_NEEDED)" MANIFEST="$(MANIFEST)" $(if $(CONFIG),CONFIG="$(CONFIG)") \
		$(if $(CMDLINE),CMDLINE="$(CMDLINE)") SIGN_KEY="$(SIGN_KEY)" SIGN_CERT="$(SIGN_CERT)" enclave_shim/image.sh

$(B)/$(SO): $(O_client) ring/client/libsigring.map
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,$(SO) \
		-Wl,--version-script=ring/client/libsigring.map -o $@ $(O_client) $(L_client)

O_all := $(O_shim) $(O_tune) $(O_agent) $(O_signer) $(O_attest) $(O_client) $(O_replay) $(call objects,bench,sr_buckets sr_schedule) \
         $(call objects,enclave_shim,$(CTL) $(SERVE) sr_local $(GROUND_enclave) $(GROUND_host))
L_all := $(L_crypto) -ljansson $(L_agent) $(L_client) -lm
# What keys and threads pass through, for programs that are built in several ways more.
O_few := $(O_signer) $(O_order) $(O_attest) $(O_core) $(call objects,enclave_shim,sr_getrandom sr_keyfile sr_post)

# The commit is in one object, and the file that it comes from is written only when it changes.
$(B)/commit: FORCE
	@mkdir -p $(@D)
	$(Q)c=$$([ -e .git ] && git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown); \
		[ "$$(cat $@ 2>/dev/null)" = "$$c" ] || echo "$$c" >$@
FORCE:
O_machine := $(B)/bench/sr_machine.o
$(O_machine): $(B)/commit
$(O_machine): CPPFLAGS += -DSR_COMMIT='"$(shell cat $(B)/commit)"'

# Programs of tests and benchmarks take from one archive what they need.
$(B)/liball.a: $(O_all)
$(B)/libfew.a: $(O_few)
$(B)/libsigring.a: $(O_client)
$(addprefix $(B)/lib,all.a few.a sigring.a):
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

LIB := $(B)/liball.a
$(UNIT) $(FUZZ) $(MP) $(BENCH) $(B)/bench/exp01: $(LIB)
$(CT): $(B)/libfew.a
$(STRESS): $(if $(filter tsan-mutant,$(VARIANT)),$(B)/libfew.a,$(LIB))
$(UNIT): LIBS := -lcriterion
$(if $(filter cov,$(VARIANT)),,$(UNIT:%=%.o): ALL_CFLAGS += -O1) # half of a build is tests, and nobody waits for them
$(UNIT): $(if $(filter asan,$(VARIANT)),$(B)/tests/fork_main.o)
FORK_MAIN := $(B)/tests/fork_main.so # preloaded: a test is a fork then, and no program that starts
$(FORK_MAIN): $(B)/tests/fork_main.o
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $^
$(FUZZ): LIBS := $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer)
$(FUZZ:%=%.o): CPPFLAGS += $(if $(filter fuzz,$(VARIANT)),,-DSR_FUZZ_MAIN)
$(BENCH) $(B)/bench/exp01: $(O_machine)
$(B)/bench/bench_load: $(O_load)
$(B)/bench/exp01: $(call objects,bench,$(EXP))
$(B)/bench/exp01: LIBS := -lz
$(UNIT) $(FUZZ) $(MP) $(STRESS) $(CT) $(BENCH) $(B)/bench/exp01: %: %.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) $(L_all)

define folder_rule
$$(B)/$(1)/%.o: $(1)/%.c Makefile
	@mkdir -p $$(@D)
	@echo "  CC    $$<"
	$$(Q)$$(CC) $$(CPPFLAGS) -MMD -MP $$(ALL_CFLAGS) $(2) -c -o $$@ $$<
endef
$(eval $(call folder_rule,ring/core,$(I_core)))
$(eval $(call folder_rule,ring/session,$(I_session)))
$(eval $(call folder_rule,ring/order,$(I_order)))
$(eval $(call folder_rule,ring/client,$(I_client)))
$(eval $(call folder_rule,ring/line,$(I_line)))
$(eval $(call folder_rule,signer,$(I_signer)))
$(eval $(call folder_rule,host_agent,$(I_agent)))
$(eval $(call folder_rule,enclave_shim,$(I_shim)))
$(eval $(call folder_rule,bench,$(I_tests)))
$(eval $(call folder_rule,tests,$(I_tests)))

# ---- the two commands, and what they need ----
CLANG_MAJOR = $(shell clang -dumpversion 2>/dev/null | cut -d. -f1)
PACKAGES_run  := gcc libc6-dev pkg-config libsecp256k1-dev liburing-dev libnuma-dev libssl-dev libjansson-dev libcbor-dev
PACKAGES_test := $(PACKAGES_run) g++ clang libcriterion-dev valgrind spin binutils binutils-aarch64-linux-gnu \
                 mandoc util-linux python3 openssl zlib1g-dev
need = @PACKAGES="$(1)" NO_INSTALL="$(NO_INSTALL)" tests/packages.sh

.PHONY: run test packages-run packages-tools packages-exp01 packages-test
packages-run:
	$(call need,$(PACKAGES_run))
packages-tools:
	$(call need,$(PACKAGES_test))
packages-exp01:
	$(call need,zlib1g-dev gnuplot-nox)
packages-test: packages-tools # only now is there a clang to ask for its number
	$(call need,libclang-rt-$(CLANG_MAJOR)-dev)

run: packages-run ## build, then sign 20,000 real orders through the ring (SPLIT=1: agent and signer apart; UNSEALED=1: bytes in clear)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)UNSEALED=$(UNSEALED) bench/run.sh $(B) $(SPLIT)

RUN := tests/run.sh -o build/logs -a
test: packages-test ## everything below that proves something; ends with `N passed, N failed`
	$(Q)rm -rf build/logs && mkdir -p build/logs
	$(Q)$(MAKE) $(J) --no-print-directory all unit-programs mp-programs bench-programs
	$(Q)$(MAKE) $(J) -k -Otarget --no-print-directory model headercheck layers disasm readme image test-vsock RUN_A="$(RUN)" || bad=1; \
	for t in check mp ct asan fuzz-short tsan selftest aarch64; do \
		$(MAKE) --no-print-directory $$t RUN_A="$(RUN)" || bad=1; done; \
	awk '{p+=$$1; f+=$$2; s+=$$3} END {printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f>0}' build/logs/total

# ---- each proof by itself ----
RUN_A ?= tests/run.sh -o build/logs
run_each = $(RUN_A) $(foreach t,$(1),"$(2)$(notdir $(t))=$(3) $(t) $(4)")
run_both = $(RUN_A) -j $(CPUS) $(foreach t,$(1),"$(2)$(notdir $(t))=$(3) $(t) $(4)") # where nobody spins for another
TAP := --tap=- --jobs 1
.PHONY: unit-programs mp-programs bench-programs check mp test-vsock test-nitro asan fuzz-short tsan ct model bench bench-ring bench-sign exp01 load sizing dudect property soak fuzz headercheck \
        layers disasm readme selftest difftest image aarch64 tidy cov install uninstall clean help
unit-programs: $(UNIT)
mp-programs: $(MP) $(STRESS)
bench-programs: $(BENCH) $(B)/bench/exp01

check: unit-programs $(FORK_MAIN) ## unit tests
	$(Q)$(call run_both,$(UNIT),unit/,LD_PRELOAD=$(FORK_MAIN),)
# They look at how much time something takes; mp_host gives the machine huge pages, and takes them back.
ALONE := $(addprefix $(B)/tests/,mp_host mp_inside mp_load mp_sleep mp_tune)
mp: all mp-programs ## tests with several processes and real signals
	$(Q)$(call run_both,$(filter-out %/mp_vsock $(ALONE),$(MP)),,,)
	$(Q)$(call run_each,$(ALONE) $(STRESS),,,)
test-vsock: all mp-programs ## the same over real AF_VSOCK, in a guest of its own (QEMU, no KVM needed)
	$(Q)$(RUN_A) "vsock=NO_INSTALL=$(NO_INSTALL) tests/guest/vsock.sh $(B)"
test-nitro: all $(STATIC) $(EMULATED) ## an enclave image booted on QEMU's nitro-enclave machine: attested, provisioned, restarted, upgraded (LONG=1: a million orders; not in `make test`)
	$(Q)TEST_TIMEOUT=$(if $(LONG),7200,1800) $(RUN_A) "nitro=LONG=$(LONG) NO_INSTALL=$(NO_INSTALL) VERSION=$(VERSION) tests/guest/nitro.sh $(B)"
asan: ## unit and process tests under ASan and UBSan
	$(Q)$(MAKE) $(J) --no-print-directory VARIANT=asan all unit-programs build/asan/tests/mp_exactly_once
	$(Q)$(call run_both,$(patsubst $(B)/%,build/asan/%,$(UNIT)),asan/,,)
	$(Q)$(call run_each,build/asan/tests/mp_exactly_once,asan/,,)
MUTANTS := slot pool post # of which TSan must see that nothing is released
tsan: ## threads under clang's TSan, and the mutant without release that it must catch
	$(Q)$(MAKE) $(J) --no-print-directory VARIANT=tsan $(patsubst $(B)/%,build/tsan/%,$(STRESS))
	$(Q)$(MAKE) $(J) --no-print-directory VARIANT=tsan-mutant $(foreach t,$(MUTANTS),build/tsan-mutant/tests/stress_$t)
	$(Q)$(call run_each,$(patsubst $(B)/%,build/tsan/%,$(STRESS)),tsan/,TSAN_OPTIONS=halt_on_error=1,)
	$(Q)$(RUN_A) $(foreach t,$(MUTANTS),"tsan/mutant_$t=! build/tsan-mutant/tests/stress_$t >/dev/null 2>build/tsan-mutant/$t.log && grep -q 'data race' build/tsan-mutant/$t.log && echo ok tsan reports the mutant of $t")
VALGRIND := valgrind -q --error-exitcode=9 --suppressions=tests/valgrind.supp
ct: ## secrets undefined under memcheck: no branch or index depends on them (gcc and clang)
	$(Q)for v in ct ct-clang; do $(MAKE) $(J) --no-print-directory VARIANT=$$v $(patsubst $(B)/%,build/$$v/%,$(CT)) || exit 1; done
	$(Q)$(RUN_A) -j $(CPUS) $(foreach t,$(notdir $(CT)),"ct/gcc/$t=$(VALGRIND) build/ct/tests/$t" "ct/clang/$t=$(VALGRIND) build/ct-clang/tests/$t" \
		"ct/control/$t=$(filter-out --error-exitcode=9,$(VALGRIND)) build/ct/tests/$t --control")
model: ## the spin model of publish, take, death and re-attach; and its mutants
	$(Q)$(RUN_A) "model=LONG=$(LONG) tests/model/run.sh build/model"
headercheck: ## every header alone; the public ones as C11 and C++17
	$(Q)$(RUN_A) headercheck=tests/headercheck.sh
layers: all $(B)/emulated/sigringctl ## who includes and links what; no floating point, allocation or call where orders are judged
	$(Q)$(RUN_A) "layers=BUILD=$(B) tests/layers.sh" "pure=BUILD=$(B) tests/pure.sh"
disasm: ## publish is one 8-byte store; stlr and ldar on aarch64
	$(Q)$(RUN_A) disasm=tests/disasm.sh
readme: all ## README's snippet, man pages, option lists, log lines
	$(Q)$(RUN_A) "readme=BUILD=$(B) tests/readme.sh" "log-lines=python3 tests/log_lines.py"
selftest: all bench-programs ## the benchmarks' own arithmetic
	$(Q)$(RUN_A) "bench-selftest=tests/bench_selftest.sh $(B)"
image: $(B)/sigringctl $(STATIC) ## an enclave image: the same twice, nothing in it that need not be, measured twice
	$(Q)$(RUN_A) "image=python3 tests/image.py $(B)"
aarch64: ## cross-build, and run under qemu-user what can run there
	$(Q)$(RUN_A) "aarch64=NO_INSTALL=$(NO_INSTALL) tests/aarch64.sh"
bench: all bench-programs ## figures: ring against cache line and socket, round trip against bare signing
	$(Q)failed=; for b in $(filter-out %/bench_sign %/bench_dudect %/bench_load,$(BENCH)); do $$b || failed="$$failed $${b##*/}"; done; \
	bench/macro.sh $(B) || failed="$$failed macro.sh"; \
	[ -z "$$failed" ] || { echo "bench: no figures of$$failed" >&2; exit 1; }
bench-ring: $(B)/bench/bench_ring ## the ring against a cache line, sockets, pipes, eventfd and io_uring; other libraries' rings that bench/peers/build.sh has built
	$(Q)$< --all $(if $(wildcard $(B)/bench/peers.so),--peers)
bench-sign: all $(B)/bench/bench_sign ## signing beside what users would pick instead; figures into build/figures
	$(Q)mkdir -p build/figures
	$(Q)$(B)/bench/bench_sign --samples build/figures/samples.txt
	$(Q)bench/sign_figures.sh build/figures/samples.txt build/figures
load: all $(B)/bench/bench_load ## open-loop loads: steady, storm, faults under load, capacity at a p99 (LOAD_ARGS="--rate 20000")
	$(Q)$(B)/bench/bench_load $(LOAD_ARGS) steady
	$(Q)$(B)/bench/bench_load $(LOAD_ARGS) storm
	$(Q)$(B)/bench/bench_load $(LOAD_ARGS) --split --processes 2 --kill agent@2 --kill signer@5 --kill client@8 steady
	$(Q)$(B)/bench/bench_load $(LOAD_ARGS) ramp
exp01: packages-run packages-exp01 all $(B)/bench/exp01 ## EXP-01: a million orders there and back, stamped; figures into build/exp01
	$(Q)$(B)/bench/exp01 --out build/exp01 $(EXP01)
	$(Q)bench/exp01_figures.sh build/exp01
sizing: all bench-programs ## a model of one signing core beside what is measured; what a host takes
	$(Q)bench/sizing.py --measure $(B)
dudect: $(B)/bench/bench_dudect ## does the time of secret code depend on its secrets? reported, not judged
	$(Q)$<
property: $(B)/tests/test_policy ## ten million random orders, judged as OpenSSL's big numbers do
	$(Q)POLICY_ORDERS=10000000 $(RUN_A) "property=$< $(TAP) --filter 'policy/agrees*'"
soak: all mp-programs $(B)/bench/bench_load ## the long versions of the process tests and of the model; an hour of load
	$(Q)TEST_TIMEOUT=36000 $(call run_each,$(filter-out %/mp_vsock,$(MP)) $(STRESS),,,--long)
	$(Q)TEST_TIMEOUT=36000 $(MAKE) --no-print-directory model LONG=1
	$(Q)$(B)/bench/bench_load $(LOAD_ARGS) soak
difftest: $(B)/sigring-replay ## ORDERS=100000 random orders of each venue here and at its SDK from npm (Node 20)
	$(Q)TEST_TIMEOUT=7200 $(RUN_A) "difftest=tests/difftest.sh $(B) $(ORDERS) $(SEED)"
fuzz-short: ## each fuzz target for some seconds on random inputs, under ASan and UBSan
	$(Q)$(MAKE) $(J) --no-print-directory VARIANT=asan $(patsubst $(B)/%,build/asan/%,$(FUZZ))
	$(Q)$(call run_both,$(patsubst $(B)/%,build/asan/%,$(FUZZ)),,,3)
fuzz: ## libFuzzer on what others send: streams, documents, messages, files; SECONDS=60 each
	$(Q)for f in $(FUZZ); do $(MAKE) $(J) --no-print-directory VARIANT=fuzz $$(echo $$f | sed s,build/,build/fuzz/,) && \
		$$(echo $$f | sed s,build/,build/fuzz/,) -len_control=0 -max_total_time=$(or $(SECONDS),60) || exit 1; done
tidy: ## clang-tidy
	clang-tidy --quiet $(wildcard ring/*/*.c signer/*.c host_agent/*.c enclave_shim/*.c) -- -std=c17 -D_GNU_SOURCE $(I_shim)
cov: ## line coverage of the unit tests (gcov)
	$(Q)$(MAKE) --no-print-directory VARIANT=cov unit-programs
	$(Q)for t in $(patsubst $(B)/%,build/cov/%,$(UNIT)); do $$t >/dev/null 2>&1 || :; done
	$(Q)for d in ring/core ring/client signer host_agent; do \
		gcov -n -o build/cov/$$d $$d/*.c 2>/dev/null | grep -A1 "^File '$$d" | grep -v ^--; done

P := $(DESTDIR)$(PREFIX)
PUBLIC_HEADERS := $(addprefix ring/client/,sigring.h sigring_order.h) ring/session/sr_message.h $(addprefix ring/order/,sr_bech32.h \
                  sr_decimal.h sr_domain.h sr_dydx.h sr_ethereum.h sr_grvt.h sr_hibachi.h sr_hl_body.h sr_order.h sr_out.h sr_pm_body.h \
                  sr_schema.h sr_template.h sr_type.h sr_typed_data.h sr_venues.h) \
                  $(addprefix ring/core/,sr_base.h sr_reason.h sr_record.h sr_slot.h sr_version.h sr_wait.h)
UNITS := host_agent/systemd/sigring-agent.service enclave_shim/systemd/sigring-signer.service \
         enclave_shim/systemd/sigring-local.service enclave_shim/systemd/sigring-enclave.service
CONFS := host_agent/sigring-agent.conf enclave_shim/sigring-signer.conf enclave_shim/sigring-local.conf
INSTALLED = include/sigring lib/libsigring.a lib/$(SO) lib/libsigring.so lib/pkgconfig/sigring.pc \
            $(addprefix bin/,sigringctl sigring-replay) $(addprefix sbin/,sigring-agent sigring-enclave sigring-local sigring-signer sigring-tune) \
            $(foreach m,$(wildcard docs/man/*.[1358]),share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
            $(addprefix lib/systemd/system/,$(notdir $(UNITS))) lib/sysusers.d/sigring.conf share/doc/sigring
install: all ## headers, libraries, programs, man pages, units (PREFIX= DESTDIR=)
	install -d $P/include/sigring $P/lib/pkgconfig $P/lib/systemd/system $P/lib/sysusers.d $P/bin $P/sbin \
		$P/share/doc/sigring/examples $(DESTDIR)/etc/sigring
	install -m 644 $(PUBLIC_HEADERS) $P/include/sigring/
	install -m 644 $(B)/libsigring.a $P/lib/
	install -m 755 $(B)/$(SO) $P/lib/
	ln -sf $(SO) $P/lib/libsigring.so
	sed 's,@PREFIX@,$(PREFIX),;s,@VERSION@,$(VERSION),' ring/client/sigring.pc.in >$P/lib/pkgconfig/sigring.pc
	install -m 755 $(B)/sigringctl $(B)/sigring-replay $P/bin/
	install -m 755 $(addprefix $(B)/,sigring-agent sigring-enclave sigring-local sigring-signer sigring-tune) $P/sbin/
	for m in docs/man/*.[1358]; do install -D -m 644 $$m $P/share/man/man$${m##*.}/$${m##*/}; done
	for u in $(UNITS); do sed 's,@PREFIX@,$(PREFIX),' $$u >$P/lib/systemd/system/$${u##*/}; done
	install -m 644 host_agent/systemd/sigring.sysusers.conf $P/lib/sysusers.d/sigring.conf
	for c in $(CONFS); do test -e $(DESTDIR)/etc/sigring/$${c##*/} || install -m 644 $$c $(DESTDIR)/etc/sigring/; done
	install -m 644 host_agent/sysctl/90-sigring.conf docs/examples/*.c docs/examples/*.json* $P/share/doc/sigring/examples/
	install -m 644 README.md LICENSE docs/*.md $P/share/doc/sigring/
uninstall: ## what install put there, but for /etc/sigring
	rm -rf $(addprefix $P/,$(INSTALLED))
clean: ## remove everything that was built
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'
	@echo "  VARIANT=asan|tsan|clang|aarch64 builds into build/VARIANT; V=1 shows commands; NO_INSTALL=1 only names packages"

-include $(wildcard $(B)/*/*.d $(B)/*/*/*.d)
