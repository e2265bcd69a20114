/* What the threads that own a socket do: whether one of them waits for room in its send buffer. */
#pragma once
#include <sys/types.h>

#define OWNERS 64

/* A thread of a process that has the socket. */
struct owner {
    int process, descriptor; /* the socket's number there */
    int call;                /* its /proc/PID/task/TID/syscall, open */
};

struct owners {
    struct owner list[OWNERS];
    int count;
};

/* Look for the owners of sockets among the processes of a network namespace; takes milliseconds. */
void find_owners(const unsigned *sockets, struct owners *const *found, int count, ino_t net);
void forget(struct owners *);

/* write: asleep in a call that writes to the socket. poll: asleep in a call that waits until the socket has room.
 * edge: asleep in an epoll that has asked for edges, which does not say whether it waits. other: asleep elsewhere.
 * running, or nobody. Of several threads, the first of these words.
 */
const char *writer(const struct owners *);
