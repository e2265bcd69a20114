/* What the parts of the link emulator share: frames, lists of them, and one direction of the path. */
#pragma once
#include <stdint.h>

#define FRAME_MAX 66000

struct frame {
    uint64_t due;     /* when it leaves where it is */
    uint64_t arrived; /* when it came to the bottleneck */
    int length;
    int ghost; /* of traffic that only the bottleneck sees */
    struct frame *next;
    unsigned char bytes[];
};

struct list {
    struct frame *head, *tail;
};

struct codel {
    int on, dropping;
    uint64_t first_above, drop_next;
    uint32_t count, last_count;
};

/* A path one way: a delay, the bottleneck, a delay. The tap stands anywhere along the delays. */
struct direction {
    int id, in, out;         /* 0 from the sender, 1 back to it; devices */
    int vnet_in, vnet_out;   /* frames carry a virtio header there */
    uint64_t delay, jitter;  /* ns; jitter is the most that is added */
    double bottleneck_share; /* of the delay that lies before the bottleneck */
    double tap_share;        /* of the delay that lies before the tap */
    double rate, rate_low;   /* bit/s, 0 unlimited; alternates with rate_low where that is given */
    uint64_t rate_period;    /* ns */
    long queue_limit;        /* bytes */
    long mark_above;         /* bytes of queue above which ECN marks, 0 never */
    double police_rate;      /* bit/s, 0 none */
    double police_burst;     /* bytes */
    double loss, reorder;    /* probabilities */
    uint64_t reorder_by;     /* ns, at most */
    uint64_t outage, outage_every;
    int thin;                /* acknowledgments merged into one, 0 none */
    uint64_t thin_for;       /* ns that one is held at most */
    int scale;               /* added to the window scale of SYNs, SCALE_STRIP removes it */
    double ghost_rate;       /* bit/s of Poisson cross traffic through the bottleneck */

    struct list near, queue, far;
    struct frame *held;
    int held_count;
    long backlog;
    uint64_t free_at, started, ghost_next, drift, last_due;
    double tokens;
    uint64_t tokens_at;
    struct codel codel;
    long passed;
};

#define SCALE_STRIP 99

void push(struct list *, struct frame *);
struct frame *pop(struct list *);
double chance(void);

/* bottleneck.c */
void enqueue(struct direction *, struct frame *);
void serve(struct direction *, uint64_t until);

/* wanlink.c */
void note(const struct direction *, const char *event, uint64_t at, int bytes, uint64_t duration);
void leave(struct direction *, struct frame *, uint64_t at);
void arrive(struct direction *, uint64_t now, const unsigned char *bytes, int length);

/* middlebox.c */
uint16_t checksum(const unsigned char *bytes, int length, uint32_t sum);
uint16_t tcp_checksum(const unsigned char *ip, int header, int length);
void rewrite_scale(unsigned char *bytes, int length, int change);
int mark(unsigned char *bytes, int length);
int pure_ack(const unsigned char *bytes, int length);

/* offload.c */
void offload(struct direction *, uint64_t now, unsigned char *bytes, int length);

/* tap.c */
void tap(uint64_t wall, const unsigned char *bytes, int length);
void tap_write(const char *path, int snap);
