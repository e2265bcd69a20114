/* The bottleneck: a transmitter of some rate behind a queue; drop-tail, ECN, CoDel (RFC 8289) or a policer. */
#include "link.h"
#include <math.h>
#include <stdlib.h>

#define TARGET 5000000ull
#define INTERVAL 100000000ull
#define OVERHEAD 24 /* preamble, checksum and gap of Ethernet */

static double rate(const struct direction *way, uint64_t at)
{
    if (way->rate_low && ((at - way->started) / way->rate_period) % 2)
        return way->rate_low;
    return way->rate;
}

static int policed(struct direction *way, struct frame *frame)
{
    way->tokens += (frame->arrived - way->tokens_at) * way->police_rate / 8e9;
    way->tokens_at = frame->arrived;
    if (way->tokens > way->police_burst)
        way->tokens = way->police_burst;
    if (way->tokens < frame->length)
        return 1;
    way->tokens -= frame->length;
    return 0;
}

void enqueue(struct direction *way, struct frame *frame)
{
    frame->arrived = frame->due;
    int full = way->rate && way->backlog + frame->length > way->queue_limit;
    if (full || (way->police_rate && policed(way, frame))) {
        if (!frame->ghost)
            note(way, "drop", frame->arrived, frame->length, 0);
        free(frame);
        return;
    }
    if (way->mark_above && way->backlog > way->mark_above && !frame->ghost && mark(frame->bytes, frame->length))
        note(way, "mark", frame->arrived, frame->length, 0);
    way->backlog += frame->length;
    push(&way->queue, frame);
}

static struct frame *take(struct direction *way, uint64_t now, int *late)
{
    struct frame *frame = pop(&way->queue);
    struct codel *c = &way->codel;
    *late = 0;
    if (!frame) {
        c->first_above = 0;
        return NULL;
    }
    way->backlog -= frame->length;
    if (now - frame->arrived < TARGET || way->backlog <= 1514)
        c->first_above = 0;
    else if (!c->first_above)
        c->first_above = now + INTERVAL;
    else
        *late = now >= c->first_above;
    return frame;
}

static uint64_t control_law(uint64_t at, uint32_t count) { return at + (uint64_t)(INTERVAL / sqrt(count)); }

/* A congestion signal: marks the frame and keeps it, or drops it and takes the next. */
static struct frame *signal_congestion(struct direction *way, struct frame *frame, uint64_t now, int *late)
{
    if (!frame->ghost && mark(frame->bytes, frame->length)) {
        note(way, "mark", now, frame->length, 0);
        return frame;
    }
    if (!frame->ghost)
        note(way, "drop", now, frame->length, 0);
    free(frame);
    return take(way, now, late);
}

static struct frame *codel(struct direction *way, uint64_t now)
{
    struct codel *c = &way->codel;
    int late;
    struct frame *frame = take(way, now, &late);
    if (c->dropping) {
        if (!late)
            c->dropping = 0;
        while (frame && c->dropping && now >= c->drop_next) {
            c->count++;
            frame = signal_congestion(way, frame, now, &late);
            if (!late)
                c->dropping = 0;
            else
                c->drop_next = control_law(c->drop_next, c->count);
        }
    } else if (frame && late) {
        frame = signal_congestion(way, frame, now, &late);
        c->dropping = 1;
        uint32_t delta = c->count - c->last_count;
        c->count = delta > 1 && now - c->drop_next < 16 * INTERVAL ? delta : 1;
        c->drop_next = control_law(now, c->count);
        c->last_count = c->count;
    }
    return frame;
}

/* Transmit what can begin by `until`. Times are the model's own, so they are exact however late this runs. */
void serve(struct direction *way, uint64_t until)
{
    while (way->queue.head) {
        uint64_t start = way->queue.head->arrived > way->free_at ? way->queue.head->arrived : way->free_at;
        if (start > until)
            return;
        int late;
        struct frame *frame = way->codel.on ? codel(way, start) : take(way, start, &late);
        if (!frame)
            continue;
        uint64_t duration = way->rate ? (uint64_t)((frame->length + OVERHEAD) * 8e9 / rate(way, start)) : 0;
        way->free_at = start + duration;
        note(way, "transmit", start, frame->length, duration);
        if (frame->ghost)
            free(frame);
        else
            leave(way, frame, start + duration);
    }
}
