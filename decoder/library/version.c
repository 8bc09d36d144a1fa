/* SPDX-License-Identifier: BSD-3-Clause */
#include "btrace/version.h"

unsigned bt_version(void)
{
    return BT_VERSION;
}
