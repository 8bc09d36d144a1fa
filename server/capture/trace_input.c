/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_input.h"

int trace_input_make(const struct config *config, struct trace_input *in, struct message *why)
{
    *in = (struct trace_input){0};
    switch (config->capture.type) {
    case CONFIG_CAPTURE_NONE:
        return trace_input_socket(config, in, why);
    case CONFIG_CAPTURE_TTY:
        return trace_input_tty(config, in, why);
    default:
        return trace_input_usb(config, in, why);
    }
}
