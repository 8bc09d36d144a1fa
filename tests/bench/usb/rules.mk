# SPDX-License-Identifier: BSD-3-Clause
# The emulated probe. Included by the Makefile, whose B, Q, CC, WARN and patterns it uses.

USB_BENCH_SRC := $(wildcard tests/bench/usb/umock*.c tests/bench/usb/bench_*.c)
USB_BENCH := $(B)/release/umockdev_probe

UMOCKDEV_CFLAGS = $(subst -I,-isystem ,$(shell pkg-config --cflags umockdev-1.0))
UMOCKDEV_LIBS = $(shell pkg-config --libs umockdev-1.0)
$(USB_BENCH_SRC:%.c=$(B)/release/%.o): private CFLAGS += $(UMOCKDEV_CFLAGS)

-include $(USB_BENCH_SRC:%.c=$(B)/release/%.d)

$(USB_BENCH): $(USB_BENCH_SRC:%.c=$(B)/release/%.o) \
    $(B)/release/libsupport.a $(B)/release/libbtraced.a
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(UMOCKDEV_LIBS) $(PKG_LIBS) -lpthread

USB_CLIENT := $(B)/release/usb_client
$(B)/release/tests/bench/usb/client/usb_client.o: private CFLAGS += $(shell pkg-config --cflags libusb-1.0)
$(USB_CLIENT): $(B)/release/tests/bench/usb/client/usb_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libusb-1.0)

STREAM_CLIENT := $(B)/release/stream_client
$(B)/release/tests/bench/usb/client/stream_client.o: private CFLAGS += \
    $(shell pkg-config --cflags libusb-1.0)
$(STREAM_CLIENT): $(B)/release/tests/bench/usb/client/stream_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libusb-1.0)

FTDI_CLIENT := $(B)/release/ftdi_client
$(B)/release/tests/bench/usb/client/ftdi_client.o: private CFLAGS += \
    $(shell pkg-config --cflags libftdi1 libusb-1.0)
$(FTDI_CLIENT): $(B)/release/tests/bench/usb/client/ftdi_client.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libftdi1 libusb-1.0)

.PHONY: usb-tests
usb-tests: $(USB_BENCH) $(USB_CLIENT) $(FTDI_CLIENT) \
    $(STREAM_CLIENT)
