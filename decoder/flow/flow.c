/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/flow.h"

/* Causes after which context ID and VMID are unknown: bytes of the stream are missing. */
static bool loses_context(enum bt_gap_cause cause)
{
    return cause == BT_GAP_BAD_PACKET || cause == BT_GAP_WIRE || cause == BT_GAP_LOST_BYTES ||
           cause == BT_GAP_OVERWRITTEN || cause == BT_GAP_SILENT || cause == BT_GAP_OVERFLOW;
}

void flow_track_key(struct code_key *key, const struct bt_event *event)
{
    switch ((enum bt_event_kind)event->kind) {
    case BT_EVENT_TRACE_ON:
        key->security = event->u.trace_on.security;
        break;
    case BT_EVENT_STATE:
        key->security = event->u.state.security;
        break;
    case BT_EVENT_CONTEXT:
        key->context = event->u.context.id;
        key->has_context = true;
        break;
    case BT_EVENT_VMID:
        key->vmid = event->u.vmid.id;
        key->has_vmid = true;
        break;
    case BT_EVENT_GAP:
        if (loses_context((enum bt_gap_cause)event->cause))
            key->has_context = key->has_vmid = false;
        break;
    default:
        break;
    }
}
