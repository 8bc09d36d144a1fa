/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/usb/usb.h"

#include <string.h>

#include "tests/support/unit_main.h"

#define BULK_OUT                                                                                   \
    {                                                                                              \
        .address = 0x01, .kind = USB_ENDPOINT_BULK, .packet = 512                                  \
    }
#define BULK_IN                                                                                    \
    {                                                                                              \
        .address = 0x81, .kind = USB_ENDPOINT_BULK, .packet = 512                                  \
    }
#define SWO_IN                                                                                     \
    {                                                                                              \
        .address = 0x82, .kind = USB_ENDPOINT_BULK, .packet = 512                                  \
    }

static const struct usb_interface_info HID = {
    .number = 3,
    .class_code = 3,
    .endpoint_count = 2,
    .endpoints = {{.address = 0x84, .kind = USB_ENDPOINT_INTERRUPT, .packet = 64},
                  {.address = 0x04, .kind = USB_ENDPOINT_INTERRUPT, .packet = 64}},
    .name = "CMSIS-DAP v1"};
static const struct usb_interface_info BULK = {.number = 5,
                                               .class_code = 0xff,
                                               .endpoint_count = 3,
                                               .endpoints = {BULK_OUT, BULK_IN, SWO_IN},
                                               .name = "CMSIS-DAP v2"};
static const struct usb_interface_info SERIAL = {
    .number = 1, .class_code = 0x0a, .endpoint_count = 2, .endpoints = {BULK_OUT, BULK_IN}};

START_TEST(test_prefers_bulk)
{
    struct usb_device_info d = {.interface_count = 3, .interfaces = {HID, SERIAL, BULK}};
    struct usb_dap_choice c;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    ck_assert(!c.hid);
    ck_assert_uint_eq(c.interface, 5);
    ck_assert_uint_eq(c.out, 0x01);
    ck_assert_uint_eq(c.in, 0x81);
    ck_assert_uint_eq(c.swo, 0x82);
    ck_assert_uint_eq(c.out_packet, 512);
}
END_TEST

START_TEST(test_hid)
{
    struct usb_device_info d = {.interface_count = 2, .interfaces = {SERIAL, HID}};
    struct usb_dap_choice c;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    ck_assert(c.hid);
    ck_assert_uint_eq(c.interface, 3);
    ck_assert_uint_eq(c.in, 0x84);
    ck_assert_uint_eq(c.out, 0x04);
    d.interfaces[1].endpoint_count = 1; /* reports go by SET_REPORT */
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    ck_assert_uint_eq(c.out, 0);
    ck_assert_uint_eq(c.out_packet, 64);
}
END_TEST

START_TEST(test_name_of_device)
{
    struct usb_device_info d = {.interface_count = 2, .interfaces = {SERIAL, BULK}};
    struct usb_dap_choice c;
    d.interfaces[1].name[0] = '\0';
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), BT_ERR_UNSUPPORTED);
    strcpy(d.product_name, "KitProg3 CMSIS-DAP BULK");
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    ck_assert_uint_eq(c.interface, 5);
    d.interfaces[1].class_code = 0;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    d.interfaces[1].endpoints[0] = d.interfaces[1].endpoints[1]; /* no way to send */
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), BT_ERR_UNSUPPORTED);
}
END_TEST

/* Of a device that may not be opened only descriptors without names are known. */
START_TEST(test_hidden_names)
{
    static const struct usb_interface_info HUB = {
        .class_code = 9,
        .endpoint_count = 1,
        .endpoints = {{.address = 0x81, .kind = USB_ENDPOINT_INTERRUPT, .packet = 4}}};
    struct usb_device_info d = {.names_hidden = true, .interface_count = 1, .interfaces = {HUB}};
    ck_assert(!usb_may_be_cmsis_dap(&d));
    d.interfaces[0] = SERIAL;
    ck_assert(!usb_may_be_cmsis_dap(&d));
    d.interface_count = 2;
    d.interfaces[1] = BULK;
    ck_assert(usb_may_be_cmsis_dap(&d));
    d.interfaces[1] = HID;
    ck_assert(usb_may_be_cmsis_dap(&d));
    d.names_hidden = false; /* it has none, or they are read */
    ck_assert(!usb_may_be_cmsis_dap(&d));
}
END_TEST

START_TEST(test_lies)
{
    struct usb_device_info d = {.interface_count = 1, .interfaces = {BULK}};
    struct usb_dap_choice c;
    d.interfaces[0].endpoints[1].packet = 0;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), BT_ERR_UNSUPPORTED);
    d.interfaces[0] = BULK;
    d.interfaces[0].endpoints[0].address = 0; /* endpoint 0 is for control */
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), BT_ERR_UNSUPPORTED);
    d.interfaces[0] = HID;
    d.interfaces[0].endpoint_count = 255;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), 0);
    d.interface_count = 1000;
    d.interfaces[0] = SERIAL;
    ck_assert_int_eq(usb_choose_cmsis_dap(&d, &c), BT_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(test_serial)
{
    struct usb_device_info d = {.serial = "0123"};
    ck_assert(usb_serial_matches(&d, NULL));
    ck_assert(usb_serial_matches(&d, ""));
    ck_assert(usb_serial_matches(&d, "0123"));
    ck_assert(!usb_serial_matches(&d, "012"));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usb");
    unit_case(s, "usb: bulk before HID", test_prefers_bulk);
    unit_case(s, "usb: HID with one and two endpoints", test_hid);
    unit_case(s, "usb: the name may be the device's", test_name_of_device);
    unit_case(s, "usb: names that may not be read", test_hidden_names);
    unit_case(s, "usb: descriptors without sense", test_lies);
    unit_case(s, "usb: serial number", test_serial);
    return s;
}
