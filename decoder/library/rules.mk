# SPDX-License-Identifier: BSD-3-Clause
# The decoder as a library that others link against: `make library`, and a part of `make install`.
# Included by the Makefile, whose B, Q, CC, VERSION, PREFIX, DESTDIR, WARN and DECODER_SRC it uses.
#
# Two relocatable objects, in which all names but bt_* are local: btrace.o, which needs libc alone,
# and btrace-text.o, which needs capstone. libbtrace.a has both: a program that asks for no text of
# instructions is linked without capstone. libbtrace.so is made of the same two.

LIBBTRACE_SONAME := libbtrace.so.$(firstword $(subst ., ,$(VERSION)))
LIBBTRACE_REAL := libbtrace.so.$(VERSION)
LIBBTRACE_TEXT_SRC := decoder/library/text.c $(wildcard decoder/disasm/*.c)
LIBBTRACE_SRC := $(filter-out $(LIBBTRACE_TEXT_SRC) decoder/values/% decoder/counts/% decoder/execute/% decoder/effect/%,\
    $(DECODER_SRC))
# Classes of instructions are asked by both: pure tables, so that each has its own.
LIBBTRACE_SHARED_SRC := $(wildcard decoder/program/insn*.c)
LIBBTRACE_MAN := $(wildcard docs/man3/*.3)
LIBBTRACE_CAPSTONE = $(shell pkg-config --libs capstone)
# $(1): folder of installed files
LIBBTRACE_DIR = $(DESTDIR)$(PREFIX)/$(1)

$(B)/pic/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -I. -Idecoder/include -D_GNU_SOURCE -std=c11 $(WARN) $(CPPFLAGS) \
	    $(shell pkg-config --cflags capstone) $(CFLAGS) -O2 -g -fPIC -fvisibility=hidden \
	    -MMD -MP -c $< -o $@

$(B)/pic/btrace.o: $(LIBBTRACE_SRC:%.c=$(B)/pic/%.o)
$(B)/pic/btrace-text.o: $(patsubst %.c,$(B)/pic/%.o,$(LIBBTRACE_TEXT_SRC) $(LIBBTRACE_SHARED_SRC))
$(B)/pic/btrace.o $(B)/pic/btrace-text.o:
	$(Q)$(CC) -r -nostdlib -o $@.tmp $^
	$(Q)objcopy --wildcard --keep-global-symbol='bt_*' $@.tmp $@ && rm -f $@.tmp

$(B)/libbtrace.a: $(B)/pic/btrace.o $(B)/pic/btrace-text.o
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/$(LIBBTRACE_REAL): $(B)/pic/btrace.o $(B)/pic/btrace-text.o
	$(Q)$(CC) -shared -Wl,-soname,$(LIBBTRACE_SONAME) -Wl,-z,defs -Wl,-z,relro -Wl,-z,now \
	    $(LDFLAGS) -o $@ $^ $(LIBBTRACE_CAPSTONE)

-include $(patsubst %.c,$(B)/pic/%.d,$(LIBBTRACE_SRC) $(LIBBTRACE_TEXT_SRC))

.PHONY: library install-library uninstall-library
library: $(B)/libbtrace.a $(B)/$(LIBBTRACE_REAL)

install-library: library
	install -d $(call LIBBTRACE_DIR,lib/pkgconfig) $(call LIBBTRACE_DIR,include/btrace) \
	    $(call LIBBTRACE_DIR,share/man/man3)
	install -m 644 $(B)/libbtrace.a $(call LIBBTRACE_DIR,lib)/
	install -m 644 $(B)/$(LIBBTRACE_REAL) $(call LIBBTRACE_DIR,lib)/
	ln -sf $(LIBBTRACE_REAL) $(call LIBBTRACE_DIR,lib)/$(LIBBTRACE_SONAME)
	ln -sf $(LIBBTRACE_SONAME) $(call LIBBTRACE_DIR,lib)/libbtrace.so
	install -m 644 $(wildcard decoder/include/btrace/*.h) $(call LIBBTRACE_DIR,include/btrace)/
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' decoder/library/btrace.pc.in \
	    >$(call LIBBTRACE_DIR,lib/pkgconfig)/btrace.pc
	chmod 644 $(call LIBBTRACE_DIR,lib/pkgconfig)/btrace.pc
	install -m 644 $(LIBBTRACE_MAN) $(call LIBBTRACE_DIR,share/man/man3)/
	cd $(call LIBBTRACE_DIR,share/man/man3) && for page in $(notdir $(LIBBTRACE_MAN)); do \
	    for name in $$(sed -n '/^.Sh NAME/,/^.Nd/s/^\.Nm \([a-z_]*\).*/\1/p' $$page); do \
	        [ $$name.3 = $$page ] || ln -sf $$page $$name.3; \
	    done; \
	done
ifeq ($(DESTDIR),)
	-ldconfig
endif

uninstall-library:
	rm -f $(addprefix $(call LIBBTRACE_DIR,lib)/,libbtrace.a libbtrace.so $(LIBBTRACE_SONAME) \
	    $(LIBBTRACE_REAL) pkgconfig/btrace.pc)
	rm -f $(addprefix $(call LIBBTRACE_DIR,share/man/man3)/,btrace.3 bt_*.3)
	rm -rf $(call LIBBTRACE_DIR,include/btrace)
