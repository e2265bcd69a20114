/* What the kernel says of TCP connections through sock_diag, in the network namespace in which it was opened. */
#pragma once
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>

struct account {
    struct tcp_info info;
    unsigned memory[SK_MEMINFO_VARS];
    unsigned queued; /* SIOCOUTQ */
    unsigned inode;  /* of the socket */
    int state;
};

int open_diag(void);

/* Call `found` for each connection that is being opened or is open. */
void list_connections(int family, void (*found)(const struct inet_diag_msg *));

/* 1: filled in; 0: nothing known just now; -1: the connection has ended. */
int ask(int family, const struct inet_diag_sockid *, struct account *);
