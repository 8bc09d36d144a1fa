# SPDX-License-Identifier: GPL-2.0-or-later
# The virtual board: a plugin for qemu-system-arm, its own shared object. `make virtual-board`.
# Included by the Makefile, whose B, Q, CC, CLANG and WARN it uses.

BOARD_SRC := $(wildcard drivers/virtual/board/*.c)
BOARD_MODEL_SRC := $(wildcard drivers/virtual/encoder/*.c)
BOARD_OBJ := $(patsubst %.c,$(B)/board/%.o,$(BOARD_SRC) $(BOARD_MODEL_SRC))

$(B)/board/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -I. -Idecoder/include -D_GNU_SOURCE -std=c11 $(WARN) $(CFLAGS) -O2 -g -fPIC -fvisibility=hidden \
	    -MMD -MP -c $< -o $@

$(B)/virtual-board.so: $(BOARD_OBJ)
	$(Q)$(CC) -shared -o $@ $^ -ldl -lpthread

-include $(BOARD_OBJ:.o=.d)

.PHONY: virtual-board
virtual-board: $(B)/virtual-board.so
