# SPDX-License-Identifier: BSD-3-Clause
# The tests of reverse debugging: a QEMU plugin that writes down what a core really did, and the
# program that compares reconstructed values with it. `make reverse`. Included by the Makefile, whose
# B, Q, CC, CFLAGS_ALL, CPPFLAGS_ALL and PKG_LIBS it uses.

REVERSE_SRC := $(wildcard tests/bench/reverse/engine*.c)

$(B)/reverse-truth.so: $(B)/board/tests/bench/reverse/truth_plugin.o \
    $(B)/board/drivers/virtual/board/board_qemu.o $(B)/board/drivers/virtual/board/board_qemu_a.o \
    $(B)/board/drivers/virtual/board/board_qemu_m.o
	$(Q)$(CC) -shared -o $@ $^ -ldl

$(B)/reverse-engine: $(REVERSE_SRC:%.c=$(B)/release/%.o) $(B)/release/libbtraced.a
	$(Q)$(CC) -o $@ $^ $(PKG_LIBS) -lpthread

-include $(B)/board/tests/bench/reverse/truth_plugin.d $(REVERSE_SRC:%.c=$(B)/release/%.d)

.PHONY: reverse
reverse: $(B)/reverse-truth.so $(B)/reverse-engine virtual-board all
