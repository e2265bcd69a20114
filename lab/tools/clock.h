/* Time in nanoseconds, and sleeping by it. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static inline uint64_t wall_ns(void) { return clock_ns(CLOCK_REALTIME); }

static inline void sleep_ns(int64_t duration)
{
    if (duration <= 0)
        return;
    struct timespec time = {duration / 1000000000, duration % 1000000000};
    nanosleep(&time, NULL);
}
