/* trecv: a TCP receiver that reads as fast, or as slowly, as it is told.
 *
 *   trecv PORT [name=value ...]
 *
 * rcvbuf; rcvbuf_accepted (set after accept()); rate (bytes/s, 0 as they come); chunk (bytes a read); pause_ms every_ms (stops reading); phases=MS:RATE,...
 * (one after another, over and over); reply (bytes that are answered by one, after think_us).
 */
#define _GNU_SOURCE
#include "clock.h"
#include "options.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PHASES 16

int main(int argc, char **argv)
{
    struct {
        long ms;
        double rate;
    } phases[PHASES];
    int phase_count = 0, phase = -1, one = 1, rcvbuf = number(argc, argv, "rcvbuf", 0);
    int accepted = number(argc, argv, "rcvbuf_accepted", 0);
    double rate = number(argc, argv, "rate", 0);
    long chunk = number(argc, argv, "chunk", 65536), reply = number(argc, argv, "reply", 0);
    uint64_t pause = number(argc, argv, "pause_ms", 0) * 1000000, every = number(argc, argv, "every_ms", 1000) * 1000000;
    uint64_t think = number(argc, argv, "think_us", 0) * 1000;
    char *list = strdup(text(argc, argv, "phases", ""));
    for (char *each; phase_count < PHASES && (each = strsep(&list, ","));)
        if (sscanf(each, "%ld:%lf", &phases[phase_count].ms, &phases[phase_count].rate) == 2)
            phase_count++;
    prctl(PR_SET_TIMERSLACK, 1000);

    int listener = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(argc > 1 ? atoi(argv[1]) : 0)};
    if (rcvbuf)
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 8)) {
        perror("listen");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    int sock = accept(listener, NULL, NULL);
    if (accepted)
        setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &accepted, sizeof accepted);
    socklen_t size = sizeof rcvbuf;
    getsockopt(sock, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &size);
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);

    char *bytes = malloc(chunk);
    uint64_t start = wall_ns(), paused = start, phase_end = phase_count ? start : UINT64_MAX, since = start;
    long total = 0, before = 0, replied = 0;
    for (ssize_t got; bytes && (got = read(sock, bytes, chunk)) > 0;) {
        total += got;
        if (wall_ns() >= phase_end) {
            phase = (phase + 1) % phase_count;
            since = wall_ns();
            phase_end = since + phases[phase].ms * 1000000ull;
            rate = phases[phase].rate;
            before = total;
        }
        for (; reply && total - replied >= reply; replied += reply) {
            sleep_ns(think);
            if (write(sock, "r", 1) < 0)
                break;
        }
        if (rate > 0)
            sleep_ns((int64_t)((total - before) / rate * 1e9) - (int64_t)(wall_ns() - since));
        if (pause && wall_ns() - paused > every) {
            sleep_ns(pause);
            paused = wall_ns();
        }
    }
    double seconds = (wall_ns() - start) / 1e9;
    printf("{\"bytes\": %ld, \"seconds\": %.6f, \"rcvbuf_effective\": %d, \"mbps\": %.3f}\n", total, seconds, rcvbuf,
           total * 8 / seconds / 1e6);
    return 0;
}
