/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_model.h"

int board_model_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out)
{
    switch (o->protocol) {
    case BOARD_PROTOCOL_PTM:
        return board_ptm_init(m, o, out);
    case BOARD_PROTOCOL_ETMV3:
        return board_etmv3_init(m, o, out);
    case BOARD_PROTOCOL_MTB:
        return board_mtb_init(m, out);
    default:
        return board_etmv4_init(m, o, out);
    }
}
