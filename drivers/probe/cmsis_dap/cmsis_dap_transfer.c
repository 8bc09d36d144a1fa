/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Register accesses in packets, several packets in flight. CMSIS-DAP manual, "Transfer Commands".
 *
 * The probe executes a packet even when the one before it failed. So a packet that writes is sent
 * only when all before it are known to have worked;
 * packets that only read are sent ahead. */
#include <string.h>

#include "cmsis_dap_internal.h"

#define LIST_HEADER  3u /* command, index, count; the answer's header has this size too */
#define LIST_MAX     255u
#define BLOCK_HEADER 5u /* command, index, count (2), request */
#define BLOCK_ANSWER 4u /* command, count (2), ack */
#define BLOCK_MAX    65535u
#define ACK_MASK     0x07u
#define ACK_BAD_LINE 0x08u

/* A packet that was sent and is not answered yet. */
struct packet {
    size_t first;
    unsigned count;
};

struct job {
    struct cmsis_dap *dap;
    struct debug_transfer *list; /* NULL: a block */
    uint32_t *words;             /* of a block */
    uint8_t request;             /* of a block */
    size_t count;
    struct debug_result *result;
    size_t next; /* first access that is not sent */
    bool failed; /* an answer was not OK: nothing more is sent */
    struct packet sent[CMSIS_DAP_MAX_IN_FLIGHT];
    unsigned oldest;
    unsigned in_flight;
};

static bool cmsis_dap_reads(const struct job *job, size_t index)
{
    return ((job->list ? job->list[index].request : job->request) & DEBUG_READ) != 0;
}

/* Put a packet together in dap->out. Returns its length. */
static size_t pack_list(struct job *job, struct packet *packet, bool *writes)
{
    struct cmsis_dap *dap = job->dap;
    size_t limit = cmsis_dap_command_limit(dap);
    size_t length = LIST_HEADER;
    size_t answer = LIST_HEADER;
    unsigned n = 0;
    *writes = false;
    while (n < LIST_MAX && job->next + n < job->count) {
        const struct debug_transfer *t = &job->list[job->next + n];
        bool read = cmsis_dap_reads(job, job->next + n);
        if (length + (read ? 1 : 5) > limit || answer + (read ? 4 : 0) > dap->packet_size)
            break;
        dap->out[length++] = t->request & (DEBUG_AP | DEBUG_READ | DEBUG_REG_MASK);
        if (read) {
            answer += 4;
        } else {
            dap_put32(dap->out + length, t->value);
            length += 4;
            *writes = true;
        }
        n++;
    }
    dap->out[0] = DAP_TRANSFER;
    dap->out[1] = dap->dap_index;
    dap->out[2] = (uint8_t)n;
    *packet = (struct packet){.first = job->next, .count = n};
    return length;
}

static size_t pack_block(struct job *job, struct packet *packet, bool *writes)
{
    struct cmsis_dap *dap = job->dap;
    bool read = cmsis_dap_reads(job, job->next);
    size_t room = read ? (dap->packet_size - BLOCK_ANSWER) / 4
                       : (cmsis_dap_command_limit(dap) - BLOCK_HEADER) / 4;
    size_t left = job->count - job->next;
    size_t n = left < room ? left : room;
    if (n > BLOCK_MAX)
        n = BLOCK_MAX;
    dap->out[0] = DAP_TRANSFER_BLOCK;
    dap->out[1] = dap->dap_index;
    dap_put16(dap->out + 2, (uint32_t)n);
    dap->out[4] = job->request & (DEBUG_AP | DEBUG_READ | DEBUG_REG_MASK);
    for (size_t k = 0; !read && k < n; k++)
        dap_put32(dap->out + BLOCK_HEADER + 4 * k, job->words[job->next + k]);
    *writes = !read;
    *packet = (struct packet){.first = job->next, .count = (unsigned)n};
    return BLOCK_HEADER + (read ? 0 : 4 * n);
}

/* Send the next packet if it may go now; *sent tells. */
static int send_next(struct job *job, bool *sent)
{
    struct packet packet;
    bool writes;
    *sent = false;
    if (job->failed || job->next == job->count || job->in_flight == job->dap->packet_count)
        return 0;
    size_t length =
        job->list ? pack_list(job, &packet, &writes) : pack_block(job, &packet, &writes);
    if (writes && job->in_flight > 0)
        return 0;
    int rc = cmsis_dap_send(job->dap, length);
    if (rc != 0)
        return rc;
    job->sent[(job->oldest + job->in_flight) % CMSIS_DAP_MAX_IN_FLIGHT] = packet;
    job->in_flight++;
    job->next += packet.count;
    *sent = true;
    return 0;
}

static enum debug_ack ack_of(uint8_t byte)
{
    if ((byte & ACK_BAD_LINE) != 0)
        return DEBUG_ACK_PROTOCOL;
    switch (byte & ACK_MASK) {
    case 1:
        return DEBUG_ACK_OK;
    case 2:
        return DEBUG_ACK_WAIT;
    case 4:
        return DEBUG_ACK_FAULT;
    case 7:
    case 0: /* a probe that did not come to try */
        return DEBUG_ACK_NONE;
    default:
        return DEBUG_ACK_PROTOCOL;
    }
}

/*
 * Take the values of `done` accesses. After a failure the last read that is counted may lack its
 * value: with bulk transfers the length tells, in a report of fixed size it is left out.
 * Returns how many accesses are good.
 */
static unsigned take_values(struct job *job, const struct packet *packet, unsigned done,
                            enum debug_ack ack, const uint8_t *data, size_t words)
{
    size_t used = 0;
    for (unsigned k = 0; k < done; k++) {
        size_t index = packet->first + k;
        if (!cmsis_dap_reads(job, index))
            continue;
        bool last_in_report =
            ack != DEBUG_ACK_OK && job->dap->transport == CMSIS_DAP_HID && k + 1 == done;
        if (used == words || last_in_report)
            return k;
        uint32_t value = dap_get32(data + 4 * used++);
        if (job->list)
            job->list[index].value = value;
        else
            job->words[index] = value;
    }
    return done;
}

static int take_answer(struct job *job)
{
    struct cmsis_dap *dap = job->dap;
    struct packet packet = job->sent[job->oldest];
    size_t header = job->list ? LIST_HEADER : BLOCK_ANSWER;
    size_t length;
    int rc = cmsis_dap_receive(dap, job->list ? DAP_TRANSFER : DAP_TRANSFER_BLOCK, &length,
                               cmsis_dap_wire_ms(dap, packet.count));
    if (rc != 0) {
        dap->stale = true; /* answers to other packets may follow */
        return rc;
    }
    job->oldest = (job->oldest + 1) % CMSIS_DAP_MAX_IN_FLIGHT;
    job->in_flight--;
    if (job->failed)
        return 0;
    unsigned done = length < header ? 0 : job->list ? dap->in[1] : dap_get16(dap->in + 1);
    if (length < header || done > packet.count) {
        dap->stale = true;
        return BT_ERR_FORMAT;
    }
    enum debug_ack ack = ack_of(dap->in[header - 1]);
    unsigned good = take_values(job, &packet, done, ack, dap->in + header, (length - header) / 4);
    job->result->done = packet.first + good;
    if (ack == DEBUG_ACK_OK && good < packet.count)
        return BT_ERR_FORMAT; /* says OK, but has not done all of it */
    job->result->ack = ack;
    job->failed = ack != DEBUG_ACK_OK;
    return 0;
}

static int cmsis_dap_run(struct job *job)
{
    *job->result = (struct debug_result){.done = 0, .ack = DEBUG_ACK_OK};
    cmsis_dap_discard_rest(job->dap);
    while (job->in_flight > 0 || (!job->failed && job->next < job->count)) {
        bool sent;
        int rc = send_next(job, &sent);
        if (rc == 0 && !sent)
            rc = take_answer(job);
        if (rc != 0) {
            job->dap->stale = true;
            return rc;
        }
    }
    return 0;
}

int cmsis_dap_link_transfer(void *self, struct debug_transfer *list, size_t count,
                            struct debug_result *result)
{
    struct job job = {.dap = self, .list = list, .count = count, .result = result};
    return cmsis_dap_run(&job);
}

int cmsis_dap_link_block(void *self, uint8_t request, uint32_t *words, size_t count,
                         struct debug_result *result)
{
    struct job job = {
        .dap = self, .request = request, .words = words, .count = count, .result = result};
    return cmsis_dap_run(&job);
}
