/* usend: UDP at a constant rate. usage: usend ADDRESS PORT rate=BITS_PER_SECOND seconds=SECONDS */
#define _GNU_SOURCE
#include "clock.h"
#include "options.h"
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define SIZE 1000
#define HEADERS 66 /* UDP, IPv4, Ethernet and what the link adds */

int main(int argc, char **argv)
{
    static char bytes[SIZE];
    if (argc < 3)
        return 2;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    int sock = socket(AF_INET, SOCK_DGRAM, 0);
    double gap = (SIZE + HEADERS) * 8e9 / number(argc, argv, "rate", 1e6);
    prctl(PR_SET_TIMERSLACK, 1000);
    uint64_t start = wall_ns(), end = start + (uint64_t)(number(argc, argv, "seconds", 5) * 1e9);
    for (double due = start; wall_ns() < end; sleep_ns((int64_t)(due - wall_ns()))) {
        sendto(sock, bytes, SIZE, MSG_DONTWAIT, (void *)&to, sizeof to);
        due += gap;
    }
    return 0;
}
