#include "diag.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define ESTABLISHED 1
#define SYN_SENT 2
#define STATE(number) (1u << (number))
#define EXTENSION(number) (1u << ((number) - 1))

static int diag;
static char answer[1 << 17];

int open_diag(void)
{
    diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    return diag;
}

/* Ask for one connection and all that is said of it, or, without `id`, for the list of connections. */
static int request(int family, const struct inet_diag_sockid *id)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } message = {
        .head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | (id ? 0 : NLM_F_DUMP)},
        .body = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = id ? ~0u : STATE(ESTABLISHED) | STATE(SYN_SENT)},
    };
    if (id) {
        message.body.id = *id;
        message.body.idiag_ext = EXTENSION(INET_DIAG_INFO) | EXTENSION(INET_DIAG_SKMEMINFO);
    }
    return send(diag, &message, sizeof message, 0) == sizeof message;
}

void list_connections(int family, void (*found)(const struct inet_diag_msg *))
{
    if (!request(family, NULL))
        return;
    for (int length; (length = recv(diag, answer, sizeof answer, 0)) > 0;)
        for (struct nlmsghdr *head = (void *)answer; NLMSG_OK(head, (unsigned)length); head = NLMSG_NEXT(head, length)) {
            if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
                return;
            found(NLMSG_DATA(head));
        }
}

static void copy(void *to, size_t size, const struct rtattr *from)
{
    size_t given = RTA_PAYLOAD(from);
    memcpy(to, RTA_DATA(from), given < size ? given : size);
}

int ask(int family, const struct inet_diag_sockid *id, struct account *account)
{
    if (!request(family, id) || recv(diag, answer, sizeof answer, 0) <= 0)
        return 0;
    const struct nlmsghdr *head = (void *)answer;
    const struct inet_diag_msg *message = NLMSG_DATA(head);
    if (head->nlmsg_type == NLMSG_ERROR)
        return -1;
    memset(account, 0, sizeof *account);
    account->queued = message->idiag_wqueue;
    account->inode = message->idiag_inode;
    account->state = message->idiag_state;
    int left = head->nlmsg_len - NLMSG_LENGTH(sizeof *message), result = -1; /* one that waits has no account */
    for (struct rtattr *a = (struct rtattr *)(message + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == INET_DIAG_INFO) {
            copy(&account->info, sizeof account->info, a);
            result = 1;
        }
        if (a->rta_type == INET_DIAG_SKMEMINFO)
            copy(account->memory, sizeof account->memory, a);
    }
    return result;
}
