/* SPDX-License-Identifier: BSD-3-Clause */
/* SWJ-DP and MEM-AP, driven bit by bit with the numbers of IHI 0031F. */
#include <string.h>

#include "dap_model.h"
#include "tests/support/unit_main.h"

#define DPIDR 0x2ba01477u

static struct dap_model dap;
static struct ap_model ap;
static uint8_t memory[0x1000];
static unsigned turnround = 1;

static int mem_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    (void)ctx;
    *value = 0;
    if (address >= sizeof memory)
        return -1;
    memcpy(value, memory + address, size);
    return 0;
}

static int mem_write(void *ctx, uint32_t address, unsigned size, uint32_t value)
{
    (void)ctx;
    if (address >= sizeof memory)
        return -1;
    memcpy(memory + address, &value, size);
    return 0;
}

static void make(enum dap_wire wire, uint32_t dpidr)
{
    struct dap_options options = {
        .dpidr = dpidr, .idcode = 0x4ba00477, .targetid = 0x01002927, .wire = wire};
    struct ap_model_options ap_options = {.idr = 0x24770011, .base = 0xe00ff003};
    struct model_bus bus = {NULL, mem_read, mem_write};
    memset(memory, 0, sizeof memory);
    turnround = 1;
    ap_model_init(&ap, &ap_options, &bus);
    dap_model_init(&dap, &options);
    dap.ap[0] = &ap;
}

static void drive(uint64_t bits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        dap_swd_clock(&dap, true, (unsigned)(bits >> i & 1));
}

static void drive_bytes(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        drive(bytes[i], 8);
}

static uint64_t sample(unsigned count)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < count; i++)
        bits |= (uint64_t)dap_swd_clock(&dap, false, 0) << i;
    return bits;
}

/* request: the whole byte. Returns the ACK; *parity_ok tells of the data's parity. */
static unsigned swd_read(uint8_t request, uint32_t *value, bool *parity_ok)
{
    drive(request, 8);
    sample(turnround);
    unsigned ack = (unsigned)sample(3);
    if (ack == DAP_ACK_OK) {
        uint64_t frame = sample(33);
        *value = (uint32_t)frame;
        *parity_ok = (unsigned)__builtin_parity(*value) == (unsigned)(frame >> 32);
    }
    sample(turnround);
    return ack;
}

static unsigned swd_write_parity(uint8_t request, uint32_t value, unsigned flip)
{
    drive(request, 8);
    sample(turnround);
    unsigned ack = (unsigned)sample(3);
    sample(turnround);
    if (ack == DAP_ACK_OK)
        drive(value | (uint64_t)((unsigned)__builtin_parity(value) ^ flip) << 32, 33);
    return ack;
}

static uint32_t must_read(uint8_t request)
{
    uint32_t value = 0;
    bool ok = false;
    ck_assert_uint_eq(swd_read(request, &value, &ok), DAP_ACK_OK);
    ck_assert(ok);
    return value;
}

static void must_write(uint8_t request, uint32_t value)
{
    ck_assert_uint_eq(swd_write_parity(request, value, 0), DAP_ACK_OK);
}

static void line_reset(void)
{
    drive(UINT64_MAX, 56);
    drive(0, 8);
}

static void jtag_to_swd(void)
{
    drive(UINT64_MAX, 56);
    drive(0xe79e, 16);
    line_reset();
}

/* Connected and powered, SELECT = 0. */
static void connect(void)
{
    make(DAP_WIRE_JTAG, DPIDR);
    jtag_to_swd();
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
    must_write(0x81, 0x1e);
    must_write(0xb1, 0);
    must_write(0xa9, 0x50000000);
    ck_assert_uint_eq(must_read(0x8d) & 0xf0000000, 0xf0000000);
}

START_TEST(test_connect)
{
    make(DAP_WIRE_JTAG, DPIDR);
    uint32_t value;
    bool ok;
    ck_assert_uint_eq(swd_read(0xa5, &value, &ok), DAP_ACK_NONE);
    jtag_to_swd();
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
    ck_assert_int_eq(dap.wire, DAP_WIRE_SWD);
}
END_TEST

START_TEST(test_dpidr_first)
{
    make(DAP_WIRE_SWD, DPIDR);
    uint32_t value;
    bool ok;
    line_reset();
    ck_assert_uint_eq(swd_read(0x8d, &value, &ok), DAP_ACK_NONE);
    ck_assert_uint_eq(dap.counters.ignored, 1);
    ck_assert_uint_eq(swd_read(0xa5, &value, &ok), DAP_ACK_NONE); /* silent until the reset */
    line_reset();
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
    must_read(0x8d);
}
END_TEST

START_TEST(test_line_reset_length)
{
    make(DAP_WIRE_SWD, DPIDR);
    uint32_t value;
    bool ok;
    drive(UINT64_MAX, 49); /* one too few */
    drive(0, 8);
    ck_assert_uint_eq(swd_read(0xa5, &value, &ok), DAP_ACK_NONE);
    drive(0, 1);
    drive(UINT64_MAX, 50);
    drive(0, 2);
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
}
END_TEST

START_TEST(test_bad_request)
{
    static const uint8_t bad[] = {0x85, 0xe5, 0x25}; /* parity, stop, park */
    uint32_t value;
    bool ok;
    connect();
    unsigned before = dap.counters.bad_requests;
    ck_assert_uint_eq(swd_read(bad[_i], &value, &ok), DAP_ACK_NONE);
    ck_assert_uint_eq(dap.counters.bad_requests, before + 1);
    ck_assert_uint_eq(swd_read(0xa5, &value, &ok), DAP_ACK_NONE);
}
END_TEST

START_TEST(test_dormant)
{
    static const uint8_t wake[] = {0xff, 0x92, 0xf3, 0x09, 0x62, 0x95, 0x2d, 0x85, 0x86, 0xe9,
                                   0xaf, 0xdd, 0xe3, 0xa2, 0x0e, 0xbc, 0x19, 0xa0, 0xf1, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};
    uint32_t value;
    bool ok;
    make(DAP_WIRE_DORMANT, 0x6ba02477);
    jtag_to_swd();
    ck_assert_uint_eq(swd_read(0xa5, &value, &ok), DAP_ACK_NONE);
    drive_bytes(wake, sizeof wake);
    ck_assert_uint_eq(must_read(0xa5), 0x6ba02477);
    static const uint8_t sleep[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe3};
    drive_bytes(sleep, sizeof sleep);
    ck_assert_int_eq(dap.wire, DAP_WIRE_DORMANT);
    uint8_t to_jtag[20];
    memcpy(to_jtag, wake, 17);
    memset(to_jtag + 17, 0, 3);
    drive_bytes(to_jtag, sizeof to_jtag);
    ck_assert_int_eq(dap.wire, DAP_WIRE_JTAG);
    static const uint8_t jtag_sleep[] = {0xff, 0x75, 0x77, 0x77, 0x67};
    drive_bytes(jtag_sleep, sizeof jtag_sleep);
    ck_assert_int_eq(dap.wire, DAP_WIRE_DORMANT);
}
END_TEST

START_TEST(test_swd_to_jtag)
{
    static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3c, 0xe7, 0xff};
    connect();
    drive_bytes(bytes, sizeof bytes);
    ck_assert_int_eq(dap.wire, DAP_WIRE_JTAG);
}
END_TEST

START_TEST(test_targetsel)
{
    uint32_t value;
    bool ok;
    make(DAP_WIRE_SWD, 0x0bc12477);
    for (unsigned hit = 0; hit < 2; hit++) {
        uint32_t id = 0x01002927 + (hit ? 0 : 0x10000000);
        line_reset();
        drive(0x99, 8);
        ck_assert_uint_eq(sample(5), 0x1f); /* nobody drives */
        drive(id | (uint64_t)__builtin_parity(id) << 32, 33);
        ck_assert_uint_eq(swd_read(0xa5, &value, &ok), hit ? DAP_ACK_OK : DAP_ACK_NONE);
    }
}
END_TEST

START_TEST(test_power_first)
{
    make(DAP_WIRE_SWD, DPIDR);
    line_reset();
    must_read(0xa5);
    must_write(0xb1, 0);
    must_read(0x87); /* AP CSW, without power */
    ck_assert_uint_eq(dap.counters.unpowered, 1);
    ck_assert_uint_ne(must_read(0x8d) & DP_CS_STICKYERR, 0);
    must_write(0x81, 0x1e);
    dap.options.power_reads = 3;
    must_write(0xa9, 0x50000000);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(must_read(0x8d) & 0xa0000000, 0);
    ck_assert_uint_eq(must_read(0x8d) & 0xa0000000, 0xa0000000);
    must_write(0xa9, 0);
    ck_assert_uint_eq(must_read(0x8d) & 0xa0000000, 0);
}
END_TEST

START_TEST(test_posted_reads)
{
    connect();
    memcpy(memory + 0x10, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
    must_write(0xa3, 0x23000012); /* CSW: word, increment */
    must_write(0x8b, 0x10);       /* TAR */
    must_read(0x9f);
    ck_assert_uint_eq(must_read(0x9f), 0x44332211);
    ck_assert_uint_eq(must_read(0xbd), 0x88776655); /* RDBUFF */
    ck_assert_uint_eq(must_read(0xbd), 0x88776655);
    ck_assert_uint_eq(must_read(0x95), 0x88776655); /* RESEND */
    must_read(0xaf);                                /* TAR */
    ck_assert_uint_eq(must_read(0xbd), 0x18);
}
END_TEST

START_TEST(test_select_lost)
{
    connect();
    line_reset();
    must_read(0xa5);
    must_read(0x87); /* no such AP behind what SELECT holds now */
    ck_assert_uint_eq(must_read(0xbd), 0);
    must_write(0xb1, 0xf0);
    must_read(0x9f);
    ck_assert_uint_eq(must_read(0xbd), 0x24770011);
    must_read(0xb7);
    ck_assert_uint_eq(must_read(0xbd), 0xe00ff003);
}
END_TEST

START_TEST(test_wait)
{
    uint32_t value;
    bool ok;
    connect();
    dap.faults.wait = 2;
    ck_assert_uint_eq(swd_read(0x87, &value, &ok), DAP_ACK_WAIT);
    must_read(0x8d);
    ck_assert_uint_eq(swd_read(0x87, &value, &ok), DAP_ACK_WAIT);
    must_read(0x87);
    ck_assert_uint_eq(dap.counters.waits, 2);
    dap.faults.wait = 1000;
    ck_assert_uint_eq(swd_write_parity(0xa3, 0, 0), DAP_ACK_WAIT);
    must_write(0x81, 1); /* DAPABORT */
    must_read(0x87);
}
END_TEST

START_TEST(test_bus_error)
{
    uint32_t value;
    bool ok;
    connect();
    must_write(0x8b, 0x80000000);
    must_read(0x9f);
    ck_assert_uint_eq(swd_read(0x9f, &value, &ok), DAP_ACK_FAULT);
    ck_assert_uint_eq(swd_read(0xbd, &value, &ok), DAP_ACK_FAULT);
    ck_assert_uint_eq(swd_write_parity(0xb1, 0, 0), DAP_ACK_FAULT);
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
    ck_assert_uint_ne(must_read(0x8d) & DP_CS_STICKYERR, 0);
    must_write(0x81, 1 << 4); /* the wrong bit */
    ck_assert_uint_eq(swd_read(0x87, &value, &ok), DAP_ACK_FAULT);
    must_write(0x81, 1 << 2);
    must_read(0x87);
}
END_TEST

START_TEST(test_injected_fault)
{
    connect();
    dap.faults.fault = 1;
    must_write(0x8b, 0);
    must_write(0xbb, 1); /* DRW */
    ck_assert_uint_ne(must_read(0x8d) & DP_CS_STICKYERR, 0);
    ck_assert_uint_eq(memory[0], 0);
}
END_TEST

START_TEST(test_read_parity)
{
    uint32_t value = 0;
    bool ok = true;
    connect();
    dap.faults.parity = 1;
    must_write(0x8b, 0x123);
    swd_read(0xaf, &value, &ok);
    ck_assert(!ok);
    must_read(0xaf);
    ck_assert_uint_eq(must_read(0xbd), 0x123);
}
END_TEST

START_TEST(test_write_parity)
{
    connect();
    must_write(0x8b, 0x100);
    ck_assert_uint_eq(swd_write_parity(0x8b, 0x200, 1), DAP_ACK_OK);
    ck_assert_uint_eq(dap.counters.write_parity, 1);
    ck_assert_uint_ne(must_read(0x8d) & DP_CS_WDATAERR, 0);
    must_write(0x81, 1 << 3);
    must_read(0xaf);
    ck_assert_uint_eq(must_read(0xbd), 0x100);
}
END_TEST

START_TEST(test_no_ack)
{
    uint32_t value;
    bool ok;
    connect();
    dap.faults.no_ack = 1;
    ck_assert_uint_eq(swd_read(0x8d, &value, &ok), DAP_ACK_NONE);
    ck_assert_uint_eq(swd_read(0x8d, &value, &ok), DAP_ACK_NONE);
    drive(0, 1);
    line_reset();
    must_read(0xa5);
    must_read(0x8d);
}
END_TEST

START_TEST(test_overrun)
{
    connect();
    must_write(0xa9, 0x50000001);
    dap.faults.wait = 1;
    drive(0x87, 8); /* AP read: the data phase is clocked whatever the ACK */
    sample(1);
    ck_assert_uint_eq(sample(3), DAP_ACK_WAIT);
    sample(34);
    drive(0xa3, 8); /* AP write: FAULT, and its data phase too */
    sample(1);
    ck_assert_uint_eq(sample(3), DAP_ACK_FAULT);
    sample(1);
    drive(0, 33);
    ck_assert_uint_ne(must_read(0x8d) & DP_CS_STICKYORUN, 0);
    must_write(0x81, 1 << 4);
    must_read(0x87);
    ck_assert_uint_eq(dap.counters.contention, 0);
}
END_TEST

START_TEST(test_turnround)
{
    connect();
    must_write(0xb1, 1);
    must_write(0xa9, 0x340); /* DLCR: four clocks */
    turnround = 4;
    must_write(0xb1, 0);
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
    line_reset();
    turnround = 1;
    ck_assert_uint_eq(must_read(0xa5), DPIDR);
}
END_TEST

START_TEST(test_contention)
{
    connect();
    drive(0xa5, 8);
    sample(1);
    drive(0, 3);
    ck_assert_uint_eq(dap.counters.contention, 3);
}
END_TEST

static uint32_t ap_read(unsigned reg)
{
    uint32_t value;
    ck_assert_int_eq(ap_model_read(&ap, reg, &value), 0);
    return value;
}

static void ap_write(unsigned reg, uint32_t value)
{
    ck_assert_int_eq(ap_model_write(&ap, reg, value), 0);
}

START_TEST(test_ap_lanes)
{
    make(DAP_WIRE_SWD, DPIDR);
    ap_write(MEM_AP_CSW, 0x10); /* bytes, increment */
    ap_write(MEM_AP_TAR, 0x21);
    ap_write(MEM_AP_DRW, 0x11aa2233);
    ap_write(MEM_AP_DRW, 0x11bb2233);
    ck_assert_mem_eq(memory + 0x20, "\x00\x22\xbb\x00", 4);
    ap_write(MEM_AP_CSW, 0x11);
    ap_write(MEM_AP_TAR, 0x22);
    ck_assert_uint_eq(ap_read(MEM_AP_DRW) & 0xffff0000, 0x00bb0000);
    ck_assert_uint_eq(ap_read(MEM_AP_TAR), 0x24);
    ap_write(MEM_AP_TAR, 0x21);
    uint32_t value;
    ck_assert_int_lt(ap_model_read(&ap, MEM_AP_DRW, &value), 0);
    ck_assert_uint_eq(ap.unaligned, 1);
}
END_TEST

START_TEST(test_ap_packed)
{
    make(DAP_WIRE_SWD, DPIDR);
    ap_write(MEM_AP_CSW, 0x20);
    ap_write(MEM_AP_TAR, 0x40);
    ap_write(MEM_AP_DRW, 0x44332211);
    ck_assert_mem_eq(memory + 0x40, "\x11\x22\x33\x44", 4);
    ck_assert_uint_eq(ap_read(MEM_AP_TAR), 0x44);
    ap_write(MEM_AP_TAR, 0x40);
    ck_assert_uint_eq(ap_read(MEM_AP_DRW), 0x44332211);
    ap.options.no_packed = true;
    ap_write(MEM_AP_CSW, 0x20);
    ck_assert_uint_eq(ap_read(MEM_AP_CSW) & 0x30, 0);
}
END_TEST

START_TEST(test_ap_wrap)
{
    make(DAP_WIRE_SWD, DPIDR);
    ap_write(MEM_AP_CSW, 0x12);
    ap_write(MEM_AP_TAR, 0x7fc);
    ap_write(MEM_AP_DRW, 1);
    ck_assert_uint_eq(ap_read(MEM_AP_TAR), 0x400);
    ck_assert_uint_eq(ap.wraps, 1);
    ap.options.increment_span = 0x1000;
    ap_write(MEM_AP_TAR, 0x7fc);
    ap_write(MEM_AP_DRW, 1);
    ck_assert_uint_eq(ap_read(MEM_AP_TAR), 0x800);
}
END_TEST

START_TEST(test_ap_banked)
{
    make(DAP_WIRE_SWD, DPIDR);
    ap_write(MEM_AP_TAR, 0x108);
    for (unsigned i = 0; i < 4; i++)
        ap_write(MEM_AP_BD0 + 4 * i, 0x1000 + i);
    ck_assert_mem_eq(memory + 0x10c, "\x03\x10\x00\x00", 4);
    ck_assert_uint_eq(ap_read(MEM_AP_BD0), 0x1000);
    ck_assert_uint_eq(ap_read(MEM_AP_TAR), 0x108);
}
END_TEST

START_TEST(test_ap_sizes)
{
    make(DAP_WIRE_SWD, DPIDR);
    ap_write(MEM_AP_CSW, 3);
    ck_assert_uint_eq(ap_read(MEM_AP_CSW) & 7, 2);
    ck_assert_uint_eq(ap_read(MEM_AP_CSW) & 0x40, 0x40); /* DeviceEn */
    ap.options.word_only = true;
    ap_write(MEM_AP_CSW, 0);
    ck_assert_uint_eq(ap_read(MEM_AP_CSW) & 7, 2);
}
END_TEST

static void tms(unsigned bits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        dap_jtag_clock(&dap, bits >> i & 1, 0);
}

static uint64_t scan(bool ir, uint64_t value, unsigned count)
{
    uint64_t out = 0;
    tms(ir ? 3 : 1, ir ? 4 : 3);
    for (unsigned i = 0; i < count; i++)
        out |= (uint64_t)dap_jtag_clock(&dap, i + 1 == count, (unsigned)(value >> i & 1)) << i;
    tms(1, 2);
    return out;
}

static uint64_t acc(bool access_port, bool read, unsigned reg, uint32_t value)
{
    scan(true, access_port ? 0xb : 0xa, 4);
    return scan(false, (uint64_t)value << 3 | reg >> 1 | read, 35);
}

static void jtag_connect(void)
{
    make(DAP_WIRE_JTAG, DPIDR);
    tms(0x1f, 6);
    acc(false, false, DP_CTRL_STAT, 0x50000032);
    acc(false, false, DP_SELECT, 0);
    acc(false, false, DP_CTRL_STAT, 0x50000000);
    acc(false, true, DP_CTRL_STAT, 0);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0), (uint64_t)0xf0000000 << 3 | 2);
}

START_TEST(test_jtag_idcode)
{
    make(DAP_WIRE_JTAG, DPIDR);
    tms(0x1f, 6);
    ck_assert_uint_eq(scan(false, 0, 32), 0x4ba00477); /* selected by reset */
    ck_assert_uint_eq(scan(true, 0xf, 4), 0x1);
    ck_assert_uint_eq(scan(false, 0x55, 8), 0xaa); /* bypass: one bit late */
    scan(true, 0xe, 4);
    ck_assert_uint_eq(scan(false, 0, 32), 0x4ba00477);
}
END_TEST

START_TEST(test_jtag_posted)
{
    jtag_connect();
    memory[8] = 0x77;
    acc(true, false, MEM_AP_CSW, 0x23000012);
    acc(true, false, MEM_AP_TAR, 8);
    acc(true, true, MEM_AP_DRW, 0);
    ck_assert_uint_eq(acc(true, true, MEM_AP_DRW, 0) >> 3, 0x77);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0) >> 3, 0);
    acc(true, true, MEM_AP_TAR, 0);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0) >> 3, 0x10);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0), 2); /* its own data is 0 */
}
END_TEST

START_TEST(test_jtag_wait)
{
    jtag_connect();
    dap.faults.wait = 1;
    ck_assert_uint_eq(acc(true, false, MEM_AP_TAR, 0x40) & 7, 1); /* dropped */
    ck_assert_uint_eq(acc(true, true, MEM_AP_TAR, 0) & 7, 2);
    ck_assert_uint_ne(acc(false, true, DP_RDBUFF, 0) >> 3, 0x40);
    dap.faults.wait = 1000;
    ck_assert_uint_eq(acc(true, true, MEM_AP_TAR, 0) & 7, 1);
    scan(true, 0x8, 4);
    scan(false, 1 << 3, 35);
    ck_assert_uint_eq(acc(true, true, MEM_AP_TAR, 0) & 7, 2);
}
END_TEST

START_TEST(test_jtag_sticky)
{
    jtag_connect();
    acc(true, false, MEM_AP_TAR, 0x80000000);
    acc(true, true, MEM_AP_DRW, 0);
    ck_assert_uint_eq(acc(true, false, MEM_AP_TAR, 0x40) & 7, 2); /* not seen in ACK, discarded */
    acc(false, true, DP_CTRL_STAT, 0);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0) >> 3 & DP_CS_STICKYERR, DP_CS_STICKYERR);
    acc(false, false, DP_CTRL_STAT, 0x50000020);
    acc(true, true, MEM_AP_TAR, 0);
    ck_assert_uint_eq(acc(false, true, DP_RDBUFF, 0) >> 3, 0x80000000);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("dap_model");
    unit_case(s, "dap_model: JTAG to SWD and DPIDR", test_connect);
    unit_case(s, "dap_model: only DPIDR after a line reset", test_dpidr_first);
    unit_case(s, "dap_model: a line reset needs 50 high and two low bits", test_line_reset_length);
    unit_cases(s, "dap_model: a bad request silences it", test_bad_request, 0, 3);
    unit_case(s, "dap_model: into and out of dormant", test_dormant);
    unit_case(s, "dap_model: SWD to JTAG", test_swd_to_jtag);
    unit_case(s, "dap_model: TARGETSEL", test_targetsel);
    unit_case(s, "dap_model: no AP access before power-up", test_power_first);
    unit_case(s, "dap_model: posted reads, RDBUFF, RESEND", test_posted_reads);
    unit_case(s, "dap_model: a line reset loses SELECT", test_select_lost);
    unit_case(s, "dap_model: WAIT and DAPABORT", test_wait);
    unit_case(s, "dap_model: a bus error is sticky", test_bus_error);
    unit_case(s, "dap_model: injected bus error", test_injected_fault);
    unit_case(s, "dap_model: injected parity error", test_read_parity);
    unit_case(s, "dap_model: bad parity of written data", test_write_parity);
    unit_case(s, "dap_model: injected silence", test_no_ack);
    unit_case(s, "dap_model: overrun detection", test_overrun);
    unit_case(s, "dap_model: turnaround of four clocks", test_turnround);
    unit_case(s, "dap_model: contention is counted", test_contention);
    unit_case(s, "mem_ap: byte lanes and alignment", test_ap_lanes);
    unit_case(s, "mem_ap: packed transfers", test_ap_packed);
    unit_case(s, "mem_ap: increment wraps at 1 KiB", test_ap_wrap);
    unit_case(s, "mem_ap: banked data", test_ap_banked);
    unit_case(s, "mem_ap: sizes it has", test_ap_sizes);
    unit_case(s, "dap_model: JTAG IDCODE and BYPASS", test_jtag_idcode);
    unit_case(s, "dap_model: JTAG posts every access", test_jtag_posted);
    unit_case(s, "dap_model: JTAG WAIT drops the scan", test_jtag_wait);
    unit_case(s, "dap_model: JTAG sticky error", test_jtag_sticky);
    return s;
}
