# SPDX-License-Identifier: BSD-3-Clause
# The emulated probe. Included by the Makefile, whose B, Q, CC, WARN and patterns it uses.

USB_BENCH_SRC := $(wildcard tests/usb/umock*.c tests/usb/bench_*.c)
USB_MODEL_SRC := $(filter-out $(USB_BENCH_SRC),$(wildcard tests/usb/*.c))
USB_UNITS := $(patsubst tests/usb/unit/%.c,%,$(wildcard tests/usb/unit/test_*.c))
USB_BENCH := $(B)/release/umockdev_probe

UMOCKDEV_CFLAGS = $(subst -I,-isystem ,$(shell pkg-config --cflags umockdev-1.0))
UMOCKDEV_LIBS = $(shell pkg-config --libs umockdev-1.0)
$(USB_BENCH_SRC:%.c=$(B)/release/%.o): private CFLAGS += $(UMOCKDEV_CFLAGS)

UNICORN_CFLAGS = $(shell pkg-config --cflags unicorn)
UNICORN_LIBS = $(shell pkg-config --libs unicorn)

# $(1) variant, $(2) compiler, $(3) flags
define usb_variant
$(B)/$(1)/libusbmodel.a: $$(USB_MODEL_SRC:%.c=$(B)/$(1)/%.o)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^

$(B)/$(1)/usb/test_%: $(B)/$(1)/tests/usb/unit/test_%.o $(B)/$(1)/tests/unit/unit_main.o \
    $(B)/$(1)/libusbmodel.a $(B)/$(1)/libsupport.a $(B)/$(1)/libbtraced.a
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $(3) $$(LDFLAGS) -o $$@ $$^ $$(CHECK_LIBS) $$(PKG_LIBS) $$(USB_TEST_LIBS) -lpthread

# Algorithms run on an emulator.
$(B)/$(1)/tests/usb/unit/test_flash_algorithm.o: private CFLAGS += $$(UNICORN_CFLAGS)
$(B)/$(1)/usb/test_flash_algorithm: private USB_TEST_LIBS = $$(UNICORN_LIBS)

-include $$(patsubst %.c,$(B)/$(1)/%.d,$$(USB_MODEL_SRC) $$(USB_BENCH_SRC) \
    $$(wildcard tests/usb/unit/*.c))
endef

$(eval $(call usb_variant,release,$$(CC),-O2 -g))
$(eval $(call usb_variant,asan,$$(CC),-O1 -g $$(SAN)))
$(eval $(call usb_variant,clang,$$(CLANG),-O2 -g))

$(USB_BENCH): $(USB_BENCH_SRC:%.c=$(B)/release/%.o) $(B)/release/libusbmodel.a \
    $(B)/release/libsupport.a $(B)/release/libbtraced.a
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(UMOCKDEV_LIBS) $(PKG_LIBS) -lpthread

USB_CLIENT := $(B)/release/usb_client
$(B)/release/tests/usb/client/usb_client.o: private CFLAGS += $(shell pkg-config --cflags libusb-1.0)
$(USB_CLIENT): $(B)/release/tests/usb/client/usb_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libusb-1.0)

STREAM_CLIENT := $(B)/release/stream_client
$(B)/release/tests/usb/client/stream_client.o: private CFLAGS += \
    $(shell pkg-config --cflags libusb-1.0)
$(STREAM_CLIENT): $(B)/release/tests/usb/client/stream_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libusb-1.0)

FTDI_CLIENT := $(B)/release/ftdi_client
$(B)/release/tests/usb/client/ftdi_client.o: private CFLAGS += \
    $(shell pkg-config --cflags libftdi1 libusb-1.0)
$(FTDI_CLIENT): $(B)/release/tests/usb/client/ftdi_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libftdi1 libusb-1.0)

.PHONY: usb-tests
usb-tests: $(USB_UNITS:%=$(B)/asan/usb/%) $(USB_BENCH) $(USB_CLIENT) $(FTDI_CLIENT) \
    $(STREAM_CLIENT)
