# SPDX-License-Identifier: BSD-3-Clause
# One entry for everything: deps, deps-build, all, demo, unit, check, check-full, bench, fuzz, install, uninstall,
# clean, compile_commands.json.
# V=1 shows the commands. All output goes to build/, one folder a variant.

VERSION := 0.1.0
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
ifeq ($(origin CXX),default)
CXX := g++
endif
B := build
Q := $(if $(V),,@)
FUZZ_TIME ?= 60

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.SECONDARY: # objects are kept

# Packages.
# What the program needs to build and to run, then what the tests, the demo and CI add to it.
DEPS_BUILD := gcc libc6-dev pkg-config libcapstone-dev libuv1-dev libelf-dev libdw-dev libusb-1.0-0-dev libftdi1-dev libssl-dev libmicrohttpd-dev libseccomp-dev libzstd-dev
DEPS_DEMO := gdb-multiarch qemu-system-arm
DEPS_TEST := check libsubunit-dev clang llvm lld libclang-rt-dev clang-format cppcheck \
    binutils-arm-none-eabi gcc-arm-none-eabi binutils-aarch64-linux-gnu \
    libopencsd-dev libopencsd-bin g++ python3 mandoc zlib1g-dev libunicorn-dev \
    umockdev libumockdev-dev libftdi1-dev openocd qemu-system-x86 qemu-user busybox-static cpio kmod \
    xz-utils procps udev systemd socat openssl iproute2 openssh-client dropbear-bin linux-perf \
    python3-pyocd lldb lcov valgrind protobuf-compiler autofdo llvm-19 bolt-19 sigrok-cli libsigrokdecode4 chromium \
    slurmctld slurmd slurm-client munge zstd csmith libcsmith-dev \
    build-essential debhelper fakeroot lintian debootstrap
DEPS_TEST += $(shell grep -qs '^VERSION_ID="12"' /etc/os-release && echo python3-labgrid) # 13 has none
DEPS := $(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST)

# $(call missing,PACKAGES): sets the shell's $$missing.
missing = missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null \
    | grep -q 'ok installed' || echo $$p; done)
define install_packages
	$(Q)$(call missing,$(1)); [ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ]; then SUDO=; else SUDO="sudo -n"; fi; \
	echo "installing:" $$missing; \
	$$SUDO apt-get update -qq && \
	$$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    $$missing >/dev/null || \
	{ echo "they are not installed; root, or a user of sudo without a password, may: make $@"; exit 1; }
endef

.PHONY: deps deps-check deps-demo deps-build
deps-check:
	$(Q)$(call missing,$(DEPS)); \
	if [ -n "$$missing" ]; then echo "missing packages:" $$missing; exit 1; fi

deps:
	$(call install_packages,$(DEPS))

deps-build: # what `make` and `make install` need: a compiler and libraries
	$(call install_packages,$(DEPS_BUILD))

deps-demo: # what the demo alone needs: less to fetch
	$(call install_packages,$(DEPS_BUILD) $(DEPS_DEMO))

# Sources.
# A folder is a module. What the virtual board alone is made of is not part of the program.
LIB_SRC := $(filter-out server/cmd/main.c drivers/virtual/%, \
    $(wildcard $(addsuffix /*.c,$(addprefix decoder/,*) $(addprefix drivers/,* */*) protocol/* server/*)))
TEST_FOLDERS := $(addprefix tests/,decoder/* drivers/* drivers/*/* protocol/* server/* model)
UNIT_SRC := $(wildcard $(addsuffix /test_*.c,$(TEST_FOLDERS)))
MODEL_SRC := $(wildcard drivers/virtual/encoder/*.c) $(filter-out $(UNIT_SRC),$(wildcard tests/model/*.c))
UNIT_MAIN := tests/support/unit_main
DECODER_SRC := $(wildcard decoder/*/*.c)
SUPPORT_SRC := $(filter-out $(UNIT_MAIN).c,$(wildcard tests/support/*.c)) $(MODEL_SRC)
ORACLE_SRC := $(wildcard tests/oracle/*.c)
ORACLE_CXX := $(wildcard tests/oracle/*.cpp)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
# Clang with sanitizers takes its time: what no fuzzer wants is left out.
FUZZ_LIB_SRC := $(filter-out $(addsuffix /%,$(addprefix server/,live probe capture cmd) decoder/library),$(LIB_SRC)) \
    server/capture/trace_pool.c
FUZZ_SUPPORT_SRC := $(wildcard $(addprefix tests/support/,fuzz_*.c *_fuzz.c fake_*.c decoded.c rsp_frame.c))
BENCH_SRC := $(wildcard tests/performance/bench_*.c)
HEADERS := $(wildcard decoder/*/*.h decoder/include/btrace/*.h drivers/*/*.h drivers/*/*/*.h \
    protocol/*/*.h server/*/*.h tests/support/*.h tests/model/*.h \
    $(addsuffix /*.h,$(TEST_FOLDERS)))

UNITS := $(basename $(notdir $(UNIT_SRC)))
ORACLES := $(ORACLE_SRC:tests/oracle/%.c=%)
CXX_ORACLES := $(ORACLE_CXX:tests/oracle/%.cpp=%)
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=%)
BENCHES := $(BENCH_SRC:tests/performance/%.c=%)

PKGS := capstone libuv libdw libelf libusb-1.0 libftdi1 openssl libmicrohttpd libseccomp libzstd
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS)) -lm
CHECK_LIBS = $(shell pkg-config --libs check)
UNICORN_CFLAGS = $(shell pkg-config --cflags unicorn)
UNICORN_LIBS = $(shell pkg-config --libs unicorn)

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
    -Wpointer-arith -Wwrite-strings
CPPFLAGS_ALL = -I. -Idecoder/include -D_GNU_SOURCE -DBTRACED_VERSION='"$(VERSION)"' $(PKG_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL = -std=c11 $(WARN) $(CFLAGS)
# The daemon listens to strangers. CET is an x86 matter. The decoder's loops go without stack protector
# and CET (8 % of ETMv3): every one of its parsers has a fuzzer under AddressSanitizer. Aligned, they
# are as fast wherever the linker puts them: by 0xb0 bytes further on ETMv4 lost 5 %.
HARDEN = -fPIE -D_FORTIFY_SOURCE=2 \
    $(if $(filter decoder/%,$<),-falign-functions=64,-fstack-protector-strong $(HARDEN_CET))
HARDEN_CET := $(if $(filter x86_64 i686,$(shell uname -m)),-fcf-protection)
HARDEN_LD := -pie -Wl,-z,relro -Wl,-z,now
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# Variants: release (gcc -O2), asan and tsan (sanitizers), fuzz (clang).
# $(1) folder, $(2) compiler, $(3) flags for compiling and linking, $(4) FUZZ_: what fuzzers are linked from
define variant
$(B)/$(1)/%.o: %.c
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $(3) -MMD -MP -c $$< -o $$@

$(B)/$(1)/libbtraced.a: $$($(4)LIB_SRC:%.c=$(B)/$(1)/%.o)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^

$(B)/$(1)/libsupport.a: $$($(4)SUPPORT_SRC:%.c=$(B)/$(1)/%.o)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^

# The page is a part of the object; the compiler does not name it among what it has read.
$(B)/$(1)/server/export/report.o: server/export/report.html

# Each test lies in the folder that mirrors what it tests; the programs lie in one.
$(foreach test,$(UNIT_SRC),$(eval $(B)/$(1)/unit/$(basename $(notdir $(test))): $(B)/$(1)/$(test:.c=.o)))
$(UNITS:%=$(B)/$(1)/unit/%): $(B)/$(1)/$(UNIT_MAIN).o $(B)/$(1)/libsupport.a $(B)/$(1)/libbtraced.a
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $(3) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(CHECK_LIBS) $$(PKG_LIBS) \
	    $$(UNIT_LIBS) -lz -lpthread

# Flash algorithms run on an emulator; what is executed forwards is held against one.
$(B)/$(1)/tests/drivers/flash/test_flash_algorithm.o: private CFLAGS += $$(UNICORN_CFLAGS)
$(B)/$(1)/unit/test_flash_algorithm: private UNIT_LIBS = $$(UNICORN_LIBS)
$(B)/$(1)/tests/decoder/execute/test_execute_%.o: private CFLAGS += $$(UNICORN_CFLAGS)
$(B)/$(1)/unit/test_execute_%: private UNIT_LIBS = $$(UNICORN_LIBS)

-include $$(patsubst %.c,$(B)/$(1)/%.d,$$(LIB_SRC) server/cmd/main.c $$(SUPPORT_SRC) $$(UNIT_SRC) \
    tests/support/unit_main.c $$(ORACLE_SRC) $$(BENCH_SRC) $$(FUZZ_SRC))
endef

# The release's program is linked from folders, below.
define program
$(B)/$(1)/btraced: $(B)/$(1)/server/cmd/main.o $(B)/$(1)/libbtraced.a
	$$(Q)$(2) $(3) $$(HARDEN_LD) $$(LDFLAGS) -o $$@ $$^ $$(PKG_LIBS) -lpthread
endef

$(eval $(call variant,release,$$(CC),-O2 -g $$(HARDEN)))
$(eval $(call variant,asan,$$(CC),-O1 -g $$(SAN)))
$(eval $(call variant,tsan,$$(CC),-O1 -g -fsanitize=thread -include tests/support/tsan_openat.h))
$(eval $(call variant,fuzz,$$(CLANG),-O1 -g $$(SAN) -fsanitize=fuzzer-no-link,FUZZ_))
$(eval $(call variant,fuzzcov,$$(CLANG),-O1 -g -fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping,FUZZ_))

$(eval $(call program,asan,$$(CC),$$(SAN)))
$(eval $(call program,tsan,$$(CC),-fsanitize=thread))

all: $(B)/btraced $(B)/virtual-board.so
	$(Q)[ -z "$(MAKECMDGOALS)$(filter-out 0,$(MAKELEVEL))" ] || exit 0; \
	    echo "built: $(B)/btraced; next: make demo, or $(B)/btraced serve -c virtual-m3, or make install"

$(B)/btraced: $(B)/release/btraced
	$(Q)cp --remove-destination $< $@

# The program is linked from folders: each is one object, in which only what another folder calls is global.
# The folder itself is as old as the last file that came or went.
MODULES := $(B)/release/modules
MODULE_FOLDERS := $(filter-out decoder/library/,$(sort $(dir $(LIB_SRC))))
module_name = $(MODULES)/$(subst /,-,$(1:/=))
MODULE_OBJECTS := $(foreach folder,$(MODULE_FOLDERS),$(call module_name,$(folder)).o)

define module
$(call module_name,$(1)).all.o: \
    $(foreach source,$(LIB_SRC),$(if $(filter $(1),$(dir $(source))),$(source:%.c=$(B)/release/%.o))) $(1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) -r -nostdlib -o $$@ $$(filter %.o,$$^)
$(call module_name,$(1)).o: $(call module_name,$(1)).all.o $(MODULES)/called
	$$(Q)objcopy --keep-global-symbols=$(MODULES)/called $$< $$@
endef
$(foreach folder,$(MODULE_FOLDERS),$(eval $(call module,$(folder))))

# What a folder calls of another one; as old as its last change.
$(MODULES)/called: $(MODULE_OBJECTS:.o=.all.o) $(B)/release/server/cmd/main.o
	$(Q)new=$@.$$$$; nm -P -u $^ | awk '{ print $$1 }' | sort -u >$$new; \
	    cmp -s $@ $$new && rm $$new || mv $$new $@

$(B)/release/btraced: $(B)/release/server/cmd/main.o $(MODULE_OBJECTS)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lpthread

$(B)/release/oracle/%: $(B)/release/tests/oracle/%.o $(B)/release/libsupport.a \
    $(B)/release/libbtraced.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(PKG_LIBS) -lopencsd_c_api -lopencsd -lz -lpthread

$(B)/release/tests/oracle/%.o: tests/oracle/%.cpp
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -I. -Idecoder/include -std=c++17 -Wall -Wextra -O2 -g -MMD -MP -c $< -o $@

$(CXX_ORACLES:%=$(B)/release/oracle/%): $(B)/release/oracle/%: $(B)/release/tests/oracle/%.o \
    $(B)/release/libsupport.a $(B)/release/libbtraced.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -o $@ $^ $(PKG_LIBS) -lopencsd -lpthread

-include $(ORACLE_CXX:%.cpp=$(B)/release/%.d)

$(B)/release/bench/%: $(B)/release/tests/performance/%.o $(B)/release/libsupport.a \
    $(B)/release/libbtraced.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -o $@ $^ $(PKG_LIBS) $(BENCH_LIBS) -lopencsd_c_api -lopencsd -lpthread

$(B)/release/tests/performance/bench_execute.o: private CFLAGS += $(UNICORN_CFLAGS)
$(B)/release/bench/bench_execute: private BENCH_LIBS = $(UNICORN_LIBS)

# Programs whose trace is measured, for the cores of the virtual boards.
BENCH_PROGRAMS := $(B)/bench-programs
$(BENCH_PROGRAMS)/built: $(wildcard tests/performance/programs/* configs/virtual/board* \
    configs/virtual/start* configs/virtual/*.ld)
	$(Q)tests/performance/programs/build.sh $(@D)
	$(Q)touch $@

$(B)/fuzz/bin/%: $(B)/fuzz/tests/fuzz/%.o $(B)/fuzz/libsupport.a $(B)/fuzz/libbtraced.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O1 -g $(SAN) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS) -lpthread

$(B)/fuzzcov/bin/%: $(B)/fuzzcov/tests/fuzz/%.o $(B)/fuzzcov/libsupport.a $(B)/fuzzcov/libbtraced.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O1 -g -fsanitize=fuzzer -fprofile-instr-generate -o $@ $^ $(PKG_LIBS) -lpthread

.PHONY: all unit-tests asan clang-build bench-programs
unit-tests: $(UNITS:%=$(B)/asan/unit/%) $(B)/asan/btraced
oracles: $(ORACLES:%=$(B)/release/oracle/%) $(CXX_ORACLES:%=$(B)/release/oracle/%)
bench-programs: $(BENCH_PROGRAMS)/built $(B)/release/bench/bench_decode

# What the fuzzers are not made of is read by clang for its warnings alone.
CLANG_C := server/cmd/main.c $(UNIT_SRC) $(UNIT_MAIN).c $(BENCH_SRC) $(ORACLE_SRC) \
    $(filter-out $(FUZZ_LIB_SRC) $(FUZZ_SUPPORT_SRC),$(LIB_SRC) $(SUPPORT_SRC))
clang-build: $(CLANG_C:%.c=$(B)/clang/%.ok)
$(B)/clang/%.ok: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS_ALL) $(UNICORN_CFLAGS) $(CFLAGS_ALL) -fsyntax-only -MMD -MP -MF $(@:.ok=.d) -MT $@ $<
	$(Q)touch $@
-include $(CLANG_C:%.c=$(B)/clang/%.d)

fuzzers: $(FUZZERS:%=$(B)/fuzz/bin/%)

# The decoder as a library.
include decoder/library/rules.mk

# The virtual board: a QEMU plugin, a program of its own licence.
include drivers/virtual/board/rules.mk

# The emulated probe.
include tests/bench/usb/rules.mk

# Reverse debugging held against an emulator.
include tests/bench/reverse/rules.mk

# The board's control socket is fuzzed without QEMU, whose plugin it is.
$(foreach v,fuzz fuzzcov,$(eval $(B)/$(v)/bin/fuzz_board_control: \
    $(patsubst %.c,$(B)/$(v)/%.o,$(filter-out %/board_plugin.c,$(BOARD_SRC)) $(BOARD_MODEL_SRC))))

# Static checks.
ALL_C := $(LIB_SRC) server/cmd/main.c $(SUPPORT_SRC) $(UNIT_SRC) $(ORACLE_SRC) $(FUZZ_SRC) \
    $(BENCH_SRC) $(HEADERS) $(wildcard tests/board/*.[ch] tests/demo/*.c \
    docs/*.c docs/examples/*.c tests/bench/usb/*.[ch] tests/bench/usb/client/*.[ch] tests/bench/usb/target/*.c tests/bench/values/*.[ch] tests/bench/values/target/*.c \
    tests/bench/reverse/*.[ch] tests/bench/reverse/target/*.[ch] tests/performance/programs/*.[ch])
.PHONY: format format-check lint
format:
	$(Q)clang-format -i $(ALL_C)
format-check:
	$(Q)clang-format --dry-run -Werror $(ALL_C)
lint:
	$(Q)cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -I. -Idecoder/include \
	    --enable=warning,performance,portability -j2 \
	    --suppress=normalCheckLevelMaxBranches $(LIB_SRC) server/cmd/main.c $(wildcard tests/model/*.c) \
	    $(filter-out %/umock_usb.c,$(USB_BENCH_SRC)) drivers/virtual/board/*.c  # not: macros of GObject

# Tests, benchmarks, fuzzing.
.PHONY: unit check check-full bench fuzz demo
# What one runs all day: every unit test, no sanitizer.
unit: deps-check
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) $(UNITS:%=$(B)/release/unit/%) $(B)/release/btraced
	$(Q)tests/run.sh unit

check: deps
	$(Q)$(MAKE) --no-print-directory -j2 all unit-tests clang-build oracles fuzzers \
	    library virtual-board usb-tests reverse
	$(Q)tests/run.sh quick

check-full: deps
	$(Q)$(MAKE) --no-print-directory -j2 all unit-tests oracles fuzzers $(UNITS:%=$(B)/release/unit/%) \
	    $(B)/tsan/btraced $(B)/tsan/unit/test_pipeline $(B)/tsan/unit/test_trace_pool \
	    $(B)/tsan/unit/test_parallel $(B)/tsan/unit/test_decode_pool library virtual-board \
	    usb-tests reverse bench-programs
	$(Q)tests/run.sh full

# On the other Debian: a root of its own, kept in build/debian13. Wants root, debootstrap and a mirror.
.PHONY: check-debian13
check-debian13:
	$(Q)tests/debian13.sh

bench: deps
	$(Q)$(MAKE) --no-print-directory -j2 all virtual-board bench-programs $(BENCHES:%=$(B)/release/bench/%) \
	    $(USB_BENCH) $(STREAM_CLIENT)
	$(Q)tests/performance/run.sh

fuzz: deps
	$(Q)$(MAKE) --no-print-directory -j2 fuzzers
	$(Q)tests/fuzz/run.sh $(FUZZ_TIME)

# Which lines the fuzzers come to: FUZZ_SECONDS (0) more for each, behind its seeds and what it has found.
.PHONY: fuzz-coverage
fuzz-coverage: deps
	$(Q)$(MAKE) --no-print-directory -j2 $(FUZZERS:%=$(B)/fuzzcov/bin/%)
	$(Q)tests/fuzz/coverage.py

# Live trace with clients at random: SOAK_SECONDS (600), SOAK_SEED (1).
.PHONY: soak
soak: deps
	$(Q)$(MAKE) --no-print-directory -j2 all virtual-board
	$(Q)tests/soak/soak.py

demo: deps-demo
	$(Q)$(MAKE) --no-print-directory -j2 all virtual-board
	$(Q)tests/demo/run.sh

# Install.
.PHONY: install uninstall clean
install: all virtual-board install-library
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/btraced/configs/virtual $(DESTDIR)$(PREFIX)/lib/btraced
	install -m 755 $(B)/btraced $(DESTDIR)$(PREFIX)/bin/btraced
	install -m 644 $(B)/virtual-board.so $(DESTDIR)$(PREFIX)/lib/btraced/
	install -m 644 docs/btraced.1 $(DESTDIR)$(PREFIX)/share/man/man1/btraced.1
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,share/bash-completion/completions share/zsh/site-functions)
	install -m 644 configs/completion/btraced.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/btraced
	install -m 644 configs/completion/_btraced $(DESTDIR)$(PREFIX)/share/zsh/site-functions/
	install -d $(DESTDIR)$(PREFIX)/share/doc/btraced
	install -m 644 README.md CHANGELOG.md LICENSE $(wildcard docs/*.md) $(DESTDIR)$(PREFIX)/share/doc/btraced/
	install -m 644 $(wildcard configs/*.conf) $(DESTDIR)$(PREFIX)/share/btraced/configs/
	install -d $(DESTDIR)$(PREFIX)/lib/udev/rules.d
	install -m 644 configs/udev/60-btraced.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/
	install -m 644 $(wildcard configs/virtual/*.elf configs/virtual/*.flm) \
	    $(DESTDIR)$(PREFIX)/share/btraced/configs/virtual/
	install -d $(DESTDIR)$(PREFIX)/share/btraced && \
	    cp -R configs/ide configs/labgrid configs/slurm $(DESTDIR)$(PREFIX)/share/btraced/
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/sysusers.d
	for unit in service socket; do \
	    sed 's,/usr/bin/btraced,$(PREFIX)/bin/btraced,' configs/systemd/btraced.$$unit \
	        >$(DESTDIR)$(PREFIX)/lib/systemd/system/btraced.$$unit; \
	done
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/btraced.*
	install -m 644 configs/systemd/btraced.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/btraced.conf
	install -d $(DESTDIR)$(SYSCONFDIR)/btraced
	[ -e $(DESTDIR)$(SYSCONFDIR)/btraced/btraced.conf ] || \
	    sed 's,/usr/share/btraced,$(PREFIX)/share/btraced,' configs/systemd/btraced.conf \
	        >$(DESTDIR)$(SYSCONFDIR)/btraced/btraced.conf
ifeq ($(DESTDIR),)
	@echo "for the service: systemd-sysusers; systemctl daemon-reload; udevadm control --reload;"
	@echo "    edit $(SYSCONFDIR)/btraced/btraced.conf; systemctl enable --now btraced.socket"
endif

# What install made; the board file in $(SYSCONFDIR) is the user's, and stays.
uninstall: uninstall-library
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/btraced share/man/man1/btraced.1 \
	    lib/udev/rules.d/60-btraced.rules lib/systemd/system/btraced.service \
	    lib/systemd/system/btraced.socket lib/sysusers.d/btraced.conf \
	    share/bash-completion/completions/btraced share/zsh/site-functions/_btraced)
	rm -rf $(DESTDIR)$(PREFIX)/share/btraced $(DESTDIR)$(PREFIX)/lib/btraced $(DESTDIR)$(PREFIX)/share/doc/btraced

# For editors and clangd: how each source is compiled, as make itself would say it.
compile_commands.json: Makefile FORCE
	$(Q)$(MAKE) --no-print-directory --always-make --dry-run V=1 all \
	    $(UNITS:%=$(B)/release/unit/%) | tests/compile_commands.py >$@
.PHONY: FORCE
FORCE:

clean:
	rm -rf $(B)
