/* tsend: a TCP sender that records what its own kernel says of it, every half millisecond.
 *
 *   tsend ADDRESS PORT info=FILE.csv [name=value ...]
 *
 * pattern: bulk; paced (`chunk` bytes, then `gap_us` of sleep, or every `gap_us` with absolute=1);
 *          onoff (bulk for `chunk` ms, silent for `gap_us`); credits (`credits` chunks outstanding, one more a reply)
 * piece:   bytes a call of each chunk; all of it by default
 * phases:  MS:PATTERN:CHUNK:GAP_US:SNDBUF,... one after another, over and over
 * Also: sndbuf, cc (cubic; nothing: the host's own), bytes, seconds, write (bytes a call), blocking, nagle, lowat, max_pace (bytes/s).
 */
#define _GNU_SOURCE
#include "clock.h"
#include "options.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PERIOD 500000
#define PHASES 16

static int sock;
static volatile int done, blocked; /* blocked: the writer waits for room in the socket buffer */
static FILE *info_file;

static void *sample(void *unused)
{
    prctl(PR_SET_TIMERSLACK, 1000);
    fprintf(info_file, "t_ns,cwnd,unacked,sacked,lost,retrans,rtt_us,snd_mss,ssthresh,snd_wnd,notsent,busy_us,rwnd_us,"
                       "sndbuf_us,ca_state,outq,sndbuf,blocked\n");
    for (; !done; sleep_ns(PERIOD)) {
        struct tcp_info i = {0};
        int outq = 0, sndbuf = 0;
        socklen_t size = sizeof i, size_of_int = sizeof sndbuf;
        uint64_t at = wall_ns();
        if (getsockopt(sock, IPPROTO_TCP, TCP_INFO, &i, &size))
            continue;
        ioctl(sock, SIOCOUTQ, &outq);
        getsockopt(sock, SOL_SOCKET, SO_SNDBUF, &sndbuf, &size_of_int);
        fprintf(info_file, "%llu,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%llu,%u,%d,%d,%d\n", (unsigned long long)at,
                i.tcpi_snd_cwnd, i.tcpi_unacked, i.tcpi_sacked, i.tcpi_lost, i.tcpi_retrans, i.tcpi_rtt, i.tcpi_snd_mss,
                i.tcpi_snd_ssthresh, i.tcpi_snd_wnd, i.tcpi_notsent_bytes, (unsigned long long)i.tcpi_busy_time,
                (unsigned long long)i.tcpi_rwnd_limited, (unsigned long long)i.tcpi_sndbuf_limited, i.tcpi_ca_state,
                outq, sndbuf, blocked);
    }
    return unused;
}

struct phase {
    long ms, chunk, gap_us;
    char pattern[16];
    int sndbuf;
};

static int read_phases(const char *list, struct phase *phases)
{
    int count = 0;
    char *copy = strdup(list), *rest = copy;
    for (char *one; count < PHASES && (one = strsep(&rest, ","));) {
        struct phase *p = &phases[count];
        if (sscanf(one, "%ld:%15[^:]:%ld:%ld:%d", &p->ms, p->pattern, &p->chunk, &p->gap_us, &p->sndbuf) == 5)
            count++;
    }
    free(copy);
    return count;
}

static void set(int level, int option, int value, const char *name)
{
    if (setsockopt(sock, level, option, &value, sizeof value)) {
        perror(name);
        exit(1);
    }
}

static void open_connection(int argc, char **argv)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *to;
    const char *cc = text(argc, argv, "cc", "cubic");
    if (getaddrinfo(argv[1], argv[2], &hints, &to))
        exit(2);
    sock = socket(to->ai_family, SOCK_STREAM, 0);
    if (!number(argc, argv, "nagle", 0))
        set(IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
    if (number(argc, argv, "lowat", 0))
        set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, number(argc, argv, "lowat", 0), "TCP_NOTSENT_LOWAT");
    if (number(argc, argv, "max_pace", 0))
        set(SOL_SOCKET, SO_MAX_PACING_RATE, number(argc, argv, "max_pace", 0), "SO_MAX_PACING_RATE");
    if (number(argc, argv, "sndbuf", 0))
        set(SOL_SOCKET, SO_SNDBUF, number(argc, argv, "sndbuf", 0), "SO_SNDBUF");
    if ((*cc && setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc))) || connect(sock, to->ai_addr, to->ai_addrlen)) {
        perror(argv[1]);
        exit(1);
    }
    freeaddrinfo(to);
}

int main(int argc, char **argv)
{
    static char zeros[1 << 20];
    struct phase phases[PHASES];
    if (argc < 3 || !text(argc, argv, "info", NULL))
        return 2;
    long size = number(argc, argv, "bytes", 0), write_size = number(argc, argv, "write", 262144);
    long chunk = number(argc, argv, "chunk", 65536), gap_us = number(argc, argv, "gap_us", 0), outstanding = 0, sent = 0;
    long credits = number(argc, argv, "credits", 0), piece = number(argc, argv, "piece", sizeof zeros);
    int blocking = number(argc, argv, "blocking", 0), absolute = number(argc, argv, "absolute", 0);
    const char *pattern = text(argc, argv, "pattern", "bulk");
    int phase_count = read_phases(text(argc, argv, "phases", ""), phases), phase = -1;
    prctl(PR_SET_TIMERSLACK, 1000);
    open_connection(argc, argv);
    info_file = fopen(text(argc, argv, "info", NULL), "w");
    if (!info_file) {
        perror("info");
        return 1;
    }
    setvbuf(info_file, NULL, _IOFBF, 1 << 20);
    pthread_t sampler;
    pthread_create(&sampler, NULL, sample, NULL);
    if (!blocking)
        fcntl(sock, F_SETFL, O_NONBLOCK);

    uint64_t start = wall_ns(), end = start + (uint64_t)(number(argc, argv, "seconds", 5) * 1e9);
    uint64_t due = start, burst = start, phase_end = phase_count ? start : UINT64_MAX;
    while ((!size || sent < size) && wall_ns() < end) {
        if (wall_ns() >= phase_end) {
            struct phase *next = &phases[phase = (phase + 1) % phase_count];
            due = wall_ns();
            phase_end = due + next->ms * 1000000ull;
            pattern = next->pattern, chunk = next->chunk, gap_us = next->gap_us;
            set(SOL_SOCKET, SO_SNDBUFFORCE, next->sndbuf, "SO_SNDBUFFORCE");
        }
        int paced = !strcmp(pattern, "paced"), onoff = !strcmp(pattern, "onoff"), replies = !strcmp(pattern, "credits");
        uint64_t stop = paced || !onoff ? phase_end : burst + chunk * 1000000ull;
        if (onoff && wall_ns() >= stop) {
            sleep_ns(gap_us * 1000ll);
            burst = wall_ns();
            continue;
        }
        while (replies && outstanding >= credits && wall_ns() < end) {
            char answer[64];
            struct pollfd readable = {sock, POLLIN, 0};
            poll(&readable, 1, 50);
            ssize_t got = recv(sock, answer, sizeof answer, MSG_DONTWAIT);
            if (got > 0)
                outstanding -= got;
        }
        long want = paced || replies ? chunk : write_size;
        if (want > (long)sizeof zeros)
            want = sizeof zeros;
        if (size && size - sent < want)
            want = size - sent;
        for (long written = 0; written < want && wall_ns() < end && wall_ns() < stop;) {
            blocked = blocking;
            ssize_t got = write(sock, zeros, want - written < piece ? want - written : piece);
            blocked = 0;
            if (got > 0) {
                written += got;
                sent += got;
            } else if (errno == EAGAIN) {
                struct pollfd writable = {sock, POLLOUT, 0};
                blocked = 1;
                poll(&writable, 1, 50);
                blocked = 0;
            } else {
                perror("write");
                return 1;
            }
        }
        outstanding++;
        if (paced && absolute)
            sleep_ns((int64_t)((due += gap_us * 1000ull) - wall_ns()));
        else if (paced)
            sleep_ns(gap_us * 1000ll);
    }
    fcntl(sock, F_SETFL, 0);
    shutdown(sock, SHUT_WR);
    char rest[16];
    struct pollfd closing = {sock, POLLIN, 0};
    while (poll(&closing, 1, 3000) > 0 && read(sock, rest, sizeof rest) > 0)
        ;
    done = 1;
    pthread_join(sampler, NULL);
    fclose(info_file);
    printf("{\"bytes\": %ld, \"seconds\": %.6f}\n", sent, (wall_ns() - start) / 1e9);
    return 0;
}
