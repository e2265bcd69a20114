#include "writer.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLLED 64

enum doing { NOBODY, OTHER, RUNNING, EDGE, POLL, WRITE };
static const char *const words[] = {"nobody", "other", "running", "edge", "poll", "write"};

static void add_threads(struct owners *owners, const char *process, int descriptor)
{
    char folder[300], path[600];
    snprintf(folder, sizeof folder, "/proc/%s/task", process);
    DIR *all = opendir(folder);
    for (struct dirent *one; all && owners->count < OWNERS && (one = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s/syscall", folder, one->d_name);
        int call = isdigit(one->d_name[0]) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (call >= 0)
            owners->list[owners->count++] = (struct owner){atoi(process), descriptor, call};
    }
    if (all)
        closedir(all);
}

/* See which of the sockets a process has. */
static void search(const char *process, const unsigned *sockets, struct owners *const *found, int count)
{
    char folder[300], path[600], link[64];
    snprintf(folder, sizeof folder, "/proc/%s/fd", process);
    DIR *all = opendir(folder);
    for (struct dirent *one; all && (one = readdir(all));) {
        unsigned socket;
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        link[length > 0 ? length : 0] = 0;
        if (sscanf(link, "socket:[%u]", &socket) == 1)
            for (int i = 0; i < count; i++)
                if (sockets[i] == socket)
                    add_threads(found[i], process, atoi(one->d_name));
    }
    if (all)
        closedir(all);
}

void find_owners(const unsigned *sockets, struct owners *const *found, int count, ino_t net)
{
    DIR *all = opendir("/proc");
    for (struct dirent *one; all && (one = readdir(all));) {
        char path[300];
        struct stat namespace;
        snprintf(path, sizeof path, "/proc/%s/ns/net", one->d_name);
        if (isdigit(one->d_name[0]) && !stat(path, &namespace) && namespace.st_ino == net)
            search(one->d_name, sockets, found, count);
    }
    if (all)
        closedir(all);
}

void forget(struct owners *owners)
{
    while (owners->count)
        close(owners->list[--owners->count].call);
    free(owners);
}

/* Read a process's memory. */
static ssize_t peek(int process, unsigned long address, void *to, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return -1;
    ssize_t got = pread(memory, to, size, (off_t)address);
    close(memory);
    return got;
}

static enum doing polls(const struct owner *owner, unsigned long list, unsigned long count)
{
    struct pollfd polled[POLLED];
    size_t size = (count < POLLED ? count : POLLED) * sizeof *polled;
    if (peek(owner->process, list, polled, size) != (ssize_t)size)
        return OTHER;
    for (size_t i = 0; i < size / sizeof *polled; i++)
        if (polled[i].fd == owner->descriptor && polled[i].events & POLLOUT)
            return POLL;
    return OTHER;
}

static enum doing selects(const struct owner *owner, unsigned long count, unsigned long set)
{
    unsigned char byte = 0;
    if (!set || (unsigned long)owner->descriptor >= count)
        return OTHER;
    if (peek(owner->process, set + owner->descriptor / 8, &byte, 1) != 1)
        return OTHER;
    return byte >> owner->descriptor % 8 & 1 ? POLL : OTHER;
}

static enum doing epolls(const struct owner *owner, unsigned long epoll)
{
    char path[64], line[256];
    enum doing found = OTHER;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%lu", owner->process, epoll);
    FILE *info = fopen(path, "re");
    while (info && fgets(line, sizeof line, info)) {
        int descriptor;
        unsigned events;
        if (sscanf(line, "tfd: %d events: %x", &descriptor, &events) == 2 && descriptor == owner->descriptor)
            found = !(events & EPOLLOUT) ? OTHER : events & EPOLLET ? EDGE : POLL;
    }
    if (info)
        fclose(info);
    return found;
}

static enum doing doing(const struct owner *owner)
{
    char text[256];
    long number;
    unsigned long a[3];
    ssize_t length = pread(owner->call, text, sizeof text - 1, 0);
    if (length <= 0)
        return NOBODY;
    text[length] = 0;
    if (!strncmp(text, "running", 7))
        return RUNNING;
    if (sscanf(text, "%ld 0x%lx 0x%lx 0x%lx", &number, &a[0], &a[1], &a[2]) < 4)
        return OTHER;
    switch (number) {
    case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg: case SYS_sendfile:
        return (int)a[0] == owner->descriptor ? WRITE : OTHER;
    case SYS_splice:
        return (int)a[2] == owner->descriptor ? WRITE : OTHER;
    case SYS_poll: case SYS_ppoll:
        return polls(owner, a[0], a[1]);
    case SYS_select: case SYS_pselect6:
        return selects(owner, a[0], a[2]);
    case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_epoll_pwait2:
        return epolls(owner, a[0]);
    }
    return OTHER;
}

const char *writer(const struct owners *owners)
{
    enum doing most = NOBODY;
    for (int i = 0; i < owners->count; i++) {
        enum doing one = doing(&owners->list[i]);
        if (one > most)
            most = one;
    }
    return words[most];
}
