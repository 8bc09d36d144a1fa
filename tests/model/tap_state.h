/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine that every JTAG TAP has (IHI 0031F chapter B3). */
#ifndef TESTS_USB_TAP_STATE_H
#define TESTS_USB_TAP_STATE_H

enum tap_state {
    TAP_RESET,
    TAP_IDLE,
    TAP_SELECT_DR,
    TAP_CAPTURE_DR,
    TAP_SHIFT_DR,
    TAP_EXIT1_DR,
    TAP_PAUSE_DR,
    TAP_EXIT2_DR,
    TAP_UPDATE_DR,
    TAP_SELECT_IR,
    TAP_CAPTURE_IR,
    TAP_SHIFT_IR,
    TAP_EXIT1_IR,
    TAP_PAUSE_IR,
    TAP_EXIT2_IR,
    TAP_UPDATE_IR,
};

/* The state behind a clock with this level of TMS. */
enum tap_state tap_next(enum tap_state state, unsigned tms);

#endif
