/* wanlink: a wide-area path between two network namespaces, in user space.
 *
 *   wanlink NAMESPACE_A NAMESPACE_B trace=FILE.csv tap=FILE.pcap [name=value ...]
 *
 * Creates eth0 in both namespaces and carries frames between them: delay, bottleneck, delay each way. Names beginning
 * with back_ are those of the way from B to A. See options() for all of them; rates in bit/s, times in microseconds.
 * The trace has a row for everything that befell a frame at the bottleneck: the time (ns since the epoch), the
 * direction, the event, bytes, the queue in bytes, and how long it took (ns). `stall` is a row of the emulator about
 * itself: it was not run for so long.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "link.h"
#include "options.h"
#include <fcntl.h>
#include <linux/if_tun.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define STALL 3000000ull
#define GHOST 1250 /* bytes of a frame of cross traffic */
#define HANDSHAKE 12 /* frames back that are never lost at random */

static volatile sig_atomic_t stopped;
static FILE *trace;
static uint64_t random_state, epoch; /* epoch: wall clock less monotonic */

static void stop(int number) { (void)number, stopped = 1; }
static uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }

double chance(void) /* xorshift64: the same seed, the same losses */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) / 9007199254740992.0;
}

void push(struct list *list, struct frame *frame)
{
    frame->next = NULL;
    if (list->tail)
        list->tail->next = frame;
    else
        list->head = frame;
    list->tail = frame;
}

struct frame *pop(struct list *list)
{
    struct frame *frame = list->head;
    if (frame && !(list->head = frame->next))
        list->tail = NULL;
    return frame;
}

/* Put a frame where its time belongs; most belong at the end. */
static void insert(struct list *list, struct frame *frame)
{
    if (!list->tail || list->tail->due <= frame->due) {
        push(list, frame);
        return;
    }
    struct frame **at = &list->head;
    while ((*at)->due <= frame->due)
        at = &(*at)->next;
    frame->next = *at;
    *at = frame;
}

void note(const struct direction *way, const char *event, uint64_t at, int bytes, uint64_t duration)
{
    fprintf(trace, "%llu,%d,%s,%d,%ld,%llu\n", (unsigned long long)(at + epoch), way->id, event, bytes, way->backlog,
            (unsigned long long)duration);
}

static struct frame *copy(const unsigned char *bytes, int length)
{
    struct frame *frame = calloc(1, sizeof *frame + length);
    if (!frame)
        abort();
    frame->length = length;
    if (bytes)
        memcpy(frame->bytes, bytes, length);
    return frame;
}

static int tap_before(const struct direction *way) { return way->tap_share <= way->bottleneck_share; }

static void enter(struct direction *way, uint64_t at, struct frame *frame)
{
    frame->due = at + (uint64_t)(way->delay * way->bottleneck_share);
    if (!frame->ghost && tap_before(way))
        tap(at + (uint64_t)(way->delay * way->tap_share) + epoch, frame->bytes, frame->length);
    push(&way->near, frame);
}

static void release(struct direction *way, uint64_t at)
{
    if (way->held)
        enter(way, at, way->held);
    way->held = NULL;
    way->held_count = 0;
}

/* A frame at the entry of the path. */
void arrive(struct direction *way, uint64_t at, const unsigned char *bytes, int length)
{
    int spared = way->id ? way->passed++ < HANDSHAKE : length <= 100;
    int out = way->outage && (at - way->started) % way->outage_every > way->outage_every - way->outage;
    if (out || (way->loss && !spared && chance() < way->loss)) {
        note(way, "lose", at, length, 0);
        return;
    }
    struct frame *frame = copy(bytes, length);
    if (way->scale)
        rewrite_scale(frame->bytes, length, way->scale);
    if (!way->thin || !pure_ack(frame->bytes, length)) {
        release(way, at);
        enter(way, at, frame);
        return;
    }
    if (way->held)
        frame->due = way->held->due;
    else
        frame->due = at + way->thin_for;
    free(way->held);
    way->held = frame;
    if (++way->held_count >= way->thin)
        release(way, at);
}

/* A frame behind the bottleneck. */
void leave(struct direction *way, struct frame *frame, uint64_t at)
{
    uint64_t left = (uint64_t)(way->delay * (1 - way->bottleneck_share)), extra = 0;
    int overtaken = way->reorder && chance() < way->reorder;
    if (overtaken)
        extra = (uint64_t)(chance() * way->reorder_by);
    if (!tap_before(way)) {
        uint64_t to_tap = (uint64_t)(way->delay * (way->tap_share - way->bottleneck_share));
        tap(at + to_tap + extra + epoch, frame->bytes, frame->length);
    }
    if (way->jitter) { /* a random walk, slow enough to keep frames in order */
        double step = (chance() - 0.5) * way->jitter / 10, next = way->drift + step;
        way->drift = next < 0 ? 0 : next > way->jitter ? way->jitter : (uint64_t)next;
    }
    frame->due = at + left + way->drift + extra;
    if (!overtaken && frame->due < way->last_due)
        frame->due = way->last_due;
    if (!overtaken)
        way->last_due = frame->due;
    insert(&way->far, frame);
}

static void ghosts(struct direction *way, uint64_t at)
{
    if (!way->ghost_rate)
        return;
    if (!way->ghost_next)
        way->ghost_next = at;
    for (; way->ghost_next <= at; way->ghost_next += (uint64_t)(-log(1 - chance()) * GHOST * 8e9 / way->ghost_rate)) {
        struct frame *frame = copy(NULL, GHOST - 24);
        frame->ghost = 1;
        enter(way, way->ghost_next, frame);
    }
}

static void deliver(struct direction *way, struct frame *frame)
{
    static unsigned char virtio[10];
    struct iovec parts[2] = {{virtio, sizeof virtio}, {frame->bytes, frame->length}};
    ssize_t written = way->vnet_out ? writev(way->out, parts, 2) : write(way->out, frame->bytes, frame->length);
    (void)written; /* a namespace that has gone takes nothing */
    free(frame);
}

/* Everything that is due by `at`; says whether there was any. */
static int advance(struct direction *way, uint64_t at)
{
    int any = 0;
    if (way->held && way->held->due <= at)
        release(way, way->held->due);
    while (way->near.head && way->near.head->due <= at) {
        struct frame *frame = pop(&way->near);
        serve(way, frame->due);
        enqueue(way, frame);
        any = 1;
    }
    serve(way, at);
    while (way->far.head && way->far.head->due <= at) {
        deliver(way, pop(&way->far));
        any = 1;
    }
    return any;
}

static int receive(struct direction *way)
{
    static unsigned char bytes[FRAME_MAX];
    int any = 0;
    for (int i = 0; i < 64; i++) {
        int length = read(way->in, bytes, sizeof bytes);
        if (length <= 0)
            break;
        any = 1;
        if (way->vnet_in)
            offload(way, now(), bytes, length);
        else
            arrive(way, now(), bytes, length);
    }
    return any;
}

static uint64_t sooner(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t next_due(const struct direction *way, uint64_t otherwise)
{
    uint64_t at = otherwise;
    if (way->near.head)
        at = sooner(at, way->near.head->due);
    if (way->queue.head)
        at = sooner(at, way->free_at);
    if (way->far.head)
        at = sooner(at, way->far.head->due);
    if (way->held)
        at = sooner(at, way->held->due);
    if (way->ghost_rate)
        at = sooner(at, way->ghost_next);
    return at;
}

static int device(const char *namespace, int vnet, int napi)
{
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%s", namespace);
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0 || setns(descriptor, CLONE_NEWNET)) {
        perror(path);
        exit(1);
    }
    close(descriptor);
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    struct ifreq request = {.ifr_name = "eth0"};
    request.ifr_flags = IFF_TAP | IFF_NO_PI | (vnet ? IFF_VNET_HDR : 0) | (napi ? IFF_NAPI : 0);
    if (ioctl(tun, TUNSETIFF, &request) || (vnet && ioctl(tun, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6))) {
        perror("/dev/net/tun");
        exit(1);
    }
    return tun;
}

static struct direction options(int argc, char **argv, int id)
{
    char name[64];
#define OPTION(word, otherwise) (snprintf(name, sizeof name, id ? "back_%s" : "%s", word), number(argc, argv, name, otherwise))
    struct direction way = {
        .id = id,
        .delay = OPTION("delay_us", 0) * 1000,
        .jitter = OPTION("jitter_us", 0) * 1000,
        .bottleneck_share = OPTION("bottleneck_percent", 0) / 100,
        .tap_share = OPTION("tap_percent", 50) / 100,
        .rate = OPTION("rate_bps", 0),
        .rate_low = OPTION("rate_low_bps", 0),
        .rate_period = OPTION("rate_period_ms", 1000) * 1000000,
        .queue_limit = OPTION("queue_bytes", 250000),
        .mark_above = OPTION("mark_above_bytes", 0),
        .police_rate = OPTION("police_bps", 0),
        .police_burst = OPTION("police_burst_bytes", 0),
        .loss = OPTION("loss_ppm", 0) / 1e6,
        .reorder = OPTION("reorder_ppm", 0) / 1e6,
        .reorder_by = OPTION("reorder_us", 0) * 1000,
        .outage = OPTION("outage_ms", 0) * 1000000,
        .outage_every = OPTION("outage_every_ms", 1000) * 1000000,
        .thin = OPTION("thin", 0),
        .thin_for = OPTION("thin_us", 1000) * 1000,
        .scale = OPTION("scale", 0),
        .ghost_rate = OPTION("ghost_bps", 0),
        .codel = {.on = OPTION("codel", 0)},
    };
#undef OPTION
    way.tokens = way.police_burst;
    way.started = way.tokens_at = now();
    return way;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !text(argc, argv, "trace", NULL) || !text(argc, argv, "tap", NULL)) {
        fprintf(stderr, "usage: wanlink NAMESPACE_A NAMESPACE_B trace=FILE tap=FILE [name=value ...]\n");
        return 2;
    }
    int vnet = number(argc, argv, "vnet", 0), napi = number(argc, argv, "napi", 0);
    trace = fopen(text(argc, argv, "trace", NULL), "w");
    if (!trace) {
        perror("trace");
        return 1;
    }
    setvbuf(trace, NULL, _IOFBF, 1 << 20);
    fprintf(trace, "t_ns,direction,event,bytes,queue_bytes,duration_ns\n");
    random_state = (uint64_t)number(argc, argv, "seed", 1) * 2654435761u + 88172645463325252u;
    epoch = wall_ns() - now();
    struct direction ways[2] = {options(argc, argv, 0), options(argc, argv, 1)};
    int a = device(argv[1], vnet, 0), b = device(argv[2], 0, napi);
    ways[0].in = ways[1].out = a;
    ways[0].out = ways[1].in = b;
    ways[0].vnet_in = ways[1].vnet_out = vnet;
    signal(SIGTERM, stop);
    prctl(PR_SET_TIMERSLACK, 1000);
    printf("ready\n");
    fflush(stdout);
    for (uint64_t last = now(); !stopped;) {
        uint64_t at = now();
        if (at - last > STALL)
            note(&ways[0], "stall", last, 0, at - last);
        last = at;
        int any = 0;
        for (int i = 0; i < 2; i++) {
            any |= receive(&ways[i]);
            ghosts(&ways[i], now());
            any |= advance(&ways[i], now());
        }
        if (any)
            continue;
        uint64_t next = at + 1000000, then = now();
        for (int i = 0; i < 2; i++)
            next = next_due(&ways[i], next);
        if (next > then) {
            struct timespec wait = {0, next - then};
            struct pollfd ready[2] = {{ways[0].in, POLLIN, 0}, {ways[1].in, POLLIN, 0}};
            ppoll(ready, 2, &wait, NULL);
        }
    }
    fclose(trace);
    tap_write(text(argc, argv, "tap", NULL), number(argc, argv, "snap", 96));
    return 0;
}
