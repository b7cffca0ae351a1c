/* SPDX-License-Identifier: MIT */
#include "status/board.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOARD_MAGIC 0x46434742u /* "FCGB" */

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

/* --- the child's side --------------------------------------------------------------- */

void
board_state(struct board_slot *slot, enum board_state state)
{
    if (LOAD(slot->state) == (uint32_t)state)
        return;
    STORE(slot->state, (uint32_t)state);
    STORE(slot->state_since_ns, clock_ns());
}

static void
text_begin(struct board_slot *slot)
{
    STORE(slot->sequence, LOAD(slot->sequence) + 1);
    atomic_thread_fence(memory_order_release);
}

static void
text_end(struct board_slot *slot)
{
    atomic_store_explicit(&slot->sequence, LOAD(slot->sequence) + 1, memory_order_release);
}

/* Keeps printable ASCII without quotes and backslashes: the text goes into JSON,
 * OpenMetrics and terminals. */
static void
copy_text(char *to, size_t size, const char *from, size_t length)
{
    size_t count = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < count; i++) {
        char byte = from[i];
        to[i] = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' ? byte : '?';
    }
    to[count] = '\0';
}

void
board_request_begin(struct board_slot *slot, int64_t now_ns, const char *method, const char *uri,
                    size_t uri_length, const char *handler, uint64_t content_length)
{
    text_begin(slot);
    copy_text(slot->method, sizeof slot->method, method, method != NULL ? strlen(method) : 0);
    copy_text(slot->uri, sizeof slot->uri, uri, uri != NULL ? uri_length : 0);
    copy_text(slot->handler, sizeof slot->handler, handler, handler != NULL ? strlen(handler) : 0);
    slot->content_length = content_length;
    text_end(slot);
    STORE(slot->request_start_ns, now_ns);
    STORE(slot->request_end_ns, 0);
    STORE(slot->in_flight, LOAD(slot->in_flight) + 1);
    STORE(slot->state, (uint32_t)BOARD_RUNNING);
    STORE(slot->state_since_ns, now_ns);
}

static unsigned
bucket_of(uint64_t latency_us)
{
    unsigned bucket = latency_us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(latency_us);
    return bucket < BOARD_BUCKETS ? bucket : BOARD_BUCKETS - 1;
}

void
board_request_end(struct board_slot *slot, int64_t now_ns, int64_t start_ns, int status)
{
    uint64_t latency_us = now_ns > start_ns ? (uint64_t)(now_ns - start_ns) / 1000 : 0;
    board_count(&slot->latency[bucket_of(latency_us)]);
    STORE(slot->latency_us_sum, LOAD(slot->latency_us_sum) + latency_us);
    board_count(&slot->requests);
    if (status >= 500)
        board_count(&slot->failed);
    STORE(slot->request_end_ns, now_ns);
    if (LOAD(slot->in_flight) > 0)
        STORE(slot->in_flight, LOAD(slot->in_flight) - 1);
}

void
board_error(struct board_slot *slot, const char *text)
{
    text_begin(slot);
    copy_text(slot->error, sizeof slot->error, text, strlen(text));
    text_end(slot);
}

bool
board_text(const struct board_slot *slot, struct board_request *request)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        memcpy(request->method, slot->method, sizeof request->method);
        memcpy(request->uri, slot->uri, sizeof request->uri);
        memcpy(request->handler, slot->handler, sizeof request->handler);
        memcpy(request->error, slot->error, sizeof request->error);
        request->content_length = slot->content_length;
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && LOAD(slot->sequence) == before)
            return true;
    }
    *request = (struct board_request){0};
    return false;
}

/* --- the master's side --------------------------------------------------------------- */

static uint32_t
layout(void)
{
    return (uint32_t)(sizeof(struct board_head) << 16 ^ sizeof(struct board_slot));
}

static size_t
size_of(uint32_t slots)
{
    return sizeof(struct board_head) + slots * sizeof(struct board_slot);
}

static int
map(struct board *board, int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    board->head = memory;
    board->slot = (struct board_slot *)(board->head + 1);
    board->size = size;
    board->fd = fd;
    return 0;
}

static int
map_former(struct board *board, uint32_t slots, int fd)
{
    struct stat status;
    if (fd == -1 || fstat(fd, &status) == -1 || (size_t)status.st_size < size_of(slots))
        return -1;
    if (map(board, fd, (size_t)status.st_size) == -1)
        return -1;
    const struct board_head *head = board->head;
    if (head->magic == BOARD_MAGIC && head->layout == layout() && head->slots >= slots &&
        size_of(head->slots) == board->size)
        return 0;
    munmap(board->head, board->size);
    return -1;
}

int
board_open(struct board *board, uint32_t slots, int fd)
{
    if (map_former(board, slots, fd) == 0)
        return 0;
    int fresh = memfd_create("scoreboard", MFD_CLOEXEC);
    if (fresh == -1)
        return -1;
    if (ftruncate(fresh, (off_t)size_of(slots)) == -1 || map(board, fresh, size_of(slots)) == -1) {
        int reason = errno;
        close(fresh);
        errno = reason;
        return -1;
    }
    board->head->magic = BOARD_MAGIC;
    board->head->layout = layout();
    board->head->slots = slots;
    STORE(board->head->start_ms, clock_wall_ms());
    return 0;
}

/* Clears only what a former child wrote: pages that were never used stay unallocated. */
struct board_slot *
board_take(struct board *board)
{
    for (uint32_t i = 0; i < board->head->slots; i++) {
        struct board_slot *slot = &board->slot[i];
        if (LOAD(slot->state) != BOARD_FREE)
            continue;
        memset(slot, 0, sizeof *slot);
        STORE(slot->state, (uint32_t)BOARD_STARTING);
        STORE(slot->state_since_ns, clock_ns());
        STORE(slot->start_ms, clock_wall_ms());
        return slot;
    }
    return NULL;
}

void
board_sum(struct board_slot *sum, const struct board_slot *slot)
{
#define ADD(field) STORE(sum->field, LOAD(sum->field) + LOAD(slot->field))
    ADD(accepted);
    ADD(adopted);
    ADD(handed);
    ADD(requests);
    ADD(failed);
    ADD(aborted);
    ADD(skipped);
    ADD(timed_out);
    ADD(dropped);
    ADD(rejected);
    ADD(slow);
    ADD(log_lost);
    ADD(busy_ns);
    ADD(latency_us_sum);
    for (size_t i = 0; i < BOARD_BUCKETS; i++)
        ADD(latency[i]);
#undef ADD
}

void
board_release(struct board *board, struct board_slot *slot)
{
    board_sum(&board->head->retired, slot);
    STORE(slot->pid, 0);
    STORE(slot->state, (uint32_t)BOARD_FREE);
}

const char *
board_state_name(enum board_state state)
{
    static const char *const names[] = {
        [BOARD_FREE] = "Free",       [BOARD_STARTING] = "Starting",
        [BOARD_IDLE] = "Idle",       [BOARD_READING] = "Reading headers",
        [BOARD_RUNNING] = "Running", [BOARD_WAITING] = "Waiting",
        [BOARD_DRAINING] = "Ending",
    };
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}
