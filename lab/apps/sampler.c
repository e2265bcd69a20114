/* sampler: what the kernel says of every TCP connection of a network namespace, and what their writers do.
 *
 *   sampler NAMESPACE ADDRESS FOLDER
 *
 * Connections of the local address, IPv4, each in FOLDER/conn_LOCALPORT_REMOTEPORT.csv, a row about every 0.6 ms.
 * They are asked for by sock_diag: a copied descriptor would hold back the FIN of an application that closes its own.
 * `outq` is SIOCOUTQ, `writer` a word of writer.h, the rest of TCP_INFO and SK_MEMINFO.
 */
#define _GNU_SOURCE
#include "../tools/clock.h"
#include "diag.h"
#include "writer.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERIOD 500000
#define LOOK_FOR_CONNECTIONS 8000000ull
#define LOOK_FOR_OWNERS 20000000ull
#define CONNECTIONS 256

struct connection {
    struct inet_diag_sockid id;
    int family;
    FILE *file; /* NULL once it has ended */
    _Atomic unsigned inode;
    struct owners *_Atomic owners;
};

static volatile sig_atomic_t stopped;
static struct connection connections[CONNECTIONS];
static _Atomic int count;
static ino_t net;
static uint32_t address;
static const char *folder;

static void stop(int number) { (void)number, stopped = 1; }

static void enter(const struct inet_diag_msg *message)
{
    if (message->id.idiag_src[message->idiag_family == AF_INET6 ? 3 : 0] != address) /* ::ffff:ADDRESS, too */
        return;
    for (int i = 0; i < count; i++)
        if (!memcmp(connections[i].id.idiag_cookie, message->id.idiag_cookie, sizeof message->id.idiag_cookie))
            return;
    if (count == CONNECTIONS)
        return;
    char path[600];
    int local = ntohs(message->id.idiag_sport), remote = ntohs(message->id.idiag_dport);
    snprintf(path, sizeof path, "%s/conn_%d_%d.csv", folder, local, remote);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    fprintf(file, "t_ns,cwnd,unacked,sacked,lost,retrans,total_retrans,rtt_us,snd_mss,ssthresh,snd_wnd,notsent,busy_us,"
                  "rwnd_us,sndbuf_us,ca_state,outq,sndbuf,wmem_queued,bytes_acked,bytes_sent,state,writer\n");
    connections[count].id = message->id;
    connections[count].family = message->idiag_family;
    connections[count].file = file;
    count++;
}

static void sample(struct connection *c)
{
    struct account account;
    uint64_t at = wall_ns();
    switch (ask(c->family, &c->id, &account)) {
    case -1:
        fclose(c->file);
        c->file = NULL;
        /* fall through */
    case 0:
        return;
    }
    const struct tcp_info *i = &account.info;
    const struct owners *owners = c->owners;
    c->inode = account.inode;
    fprintf(c->file, "%llu,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%llu,%u,%u,%u,%u,%llu,%llu,%d,%s\n",
            (unsigned long long)at, i->tcpi_snd_cwnd, i->tcpi_unacked, i->tcpi_sacked, i->tcpi_lost, i->tcpi_retrans,
            i->tcpi_total_retrans, i->tcpi_rtt, i->tcpi_snd_mss, i->tcpi_snd_ssthresh, i->tcpi_snd_wnd,
            i->tcpi_notsent_bytes, (unsigned long long)i->tcpi_busy_time, (unsigned long long)i->tcpi_rwnd_limited,
            (unsigned long long)i->tcpi_sndbuf_limited, i->tcpi_ca_state, account.queued,
            account.memory[SK_MEMINFO_SNDBUF], account.memory[SK_MEMINFO_WMEM_QUEUED],
            (unsigned long long)i->tcpi_bytes_acked, (unsigned long long)i->tcpi_bytes_sent, account.state,
            owners ? writer(owners) : "nobody");
}

/* Owners change, as servers fork. What they were is kept for one more round: a sample may be looking at it. */
static void *look_for_owners(void *unused)
{
    struct sched_param ordinary = {0};
    static struct owners *old[CONNECTIONS], *found[CONNECTIONS];
    static unsigned sockets[CONNECTIONS];
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
    for (uint64_t took = 0; !stopped; sleep_ns(LOOK_FOR_OWNERS + 4 * took)) {
        uint64_t begun = wall_ns();
        int known = count;
        for (int i = 0; i < known; i++) {
            sockets[i] = connections[i].inode;
            found[i] = calloc(1, sizeof *found[i]);
            if (!found[i])
                abort();
        }
        find_owners(sockets, found, known, net);
        for (int i = 0; i < known; i++) {
            if (old[i])
                forget(old[i]);
            old[i] = atomic_exchange(&connections[i].owners, found[i]);
        }
        took = wall_ns() - begun;
    }
    return unused;
}

int main(int argc, char **argv)
{
    char path[256];
    struct stat namespace;
    if (argc != 4 || inet_pton(AF_INET, argv[2], &address) != 1) {
        fprintf(stderr, "usage: sampler NAMESPACE ADDRESS FOLDER\n");
        return 2;
    }
    folder = argv[3];
    snprintf(path, sizeof path, "/var/run/netns/%s", argv[1]);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &namespace) || setns(descriptor, CLONE_NEWNET)) {
        perror(path);
        return 1;
    }
    net = namespace.st_ino;
    if (open_diag() < 0) {
        perror("sock_diag");
        return 1;
    }
    signal(SIGTERM, stop);
    prctl(PR_SET_TIMERSLACK, 1000);
    pthread_t watch;
    if (pthread_create(&watch, NULL, look_for_owners, NULL))
        return 1;
    printf("ready\n");
    fflush(stdout);
    for (uint64_t looked = 0; !stopped; sleep_ns(PERIOD)) {
        if (wall_ns() - looked > LOOK_FOR_CONNECTIONS) {
            list_connections(AF_INET, enter);
            list_connections(AF_INET6, enter);
            looked = wall_ns();
        }
        for (int i = 0; i < count; i++)
            if (connections[i].file)
                sample(&connections[i]);
    }
    pthread_join(watch, NULL);
    for (int i = 0; i < count; i++)
        if (connections[i].file)
            fclose(connections[i].file);
    return 0;
}
