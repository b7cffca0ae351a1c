/* SPDX-License-Identifier: MIT */
/*
 * fcgi-handler.h - the contract between the server and a handler. This is the
 * only header that a handler includes; everything else is private to the server.
 *
 * A handler is a shared object that exports one constant:
 *
 *     static enum fh_result
 *     handle(void *state, struct fh_request *request)
 *     {
 *         fh_header(request, "Content-Type", "text/plain");
 *         fh_print(request, "hello world\n");
 *         return FH_OK;
 *     }
 *
 *     const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler),
 *                                             .name = "hello", .handle = handle};
 *
 * Every pointer that the server hands out lives until handle() (or the resume()
 * that ends the request) returns; copy what must live longer. A request is used
 * by one thread at a time: do not keep it, and do not pass it to a thread.
 *
 * ABI history:
 *   1  first version
 */
#ifndef FCGI_HANDLER_H
#define FCGI_HANDLER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Raised by a change that breaks old handlers. Members appended to the
 * end of a structure only raise its size. */
#define FH_ABI 1u

enum fh_result {
    FH_OK = 0,        /* the answer is complete */
    FH_NOT_FOUND = 1, /* nothing was written: the server answers 404 */
    FH_ERROR = 2,     /* 500 if nothing was sent yet; see fh_fail() */
    FH_WAIT = 3,      /* fh_wait() was called: resume() continues this request */
};

/* The one symbol that the server looks for in a shared object; visible even when
 * everything else is compiled with -fvisibility=hidden. */
struct fh_handler;
__attribute__((visibility("default"))) extern const struct fh_handler fcgi_handler;

struct fh_request;

/* What the server offers. Reached through the request, so that a handler needs
 * no symbol of the server's. Use the fh_ functions below. */
struct fh_host {
    uint32_t abi;
    uint32_t size;
    const char *(*param)(struct fh_request *, const char *name, size_t *length);
    const char *(*query)(struct fh_request *, const char *key, size_t *length);
    ptrdiff_t (*read)(struct fh_request *, void *buffer, size_t size);
    int (*status)(struct fh_request *, int code);
    int (*header)(struct fh_request *, const char *name, const char *value);
    int (*write)(struct fh_request *, const void *data, size_t length);
    int (*vprint)(struct fh_request *, const char *format, va_list arguments);
    enum fh_result (*vfail)(struct fh_request *, const char *file, int line, const char *format,
                            va_list arguments);
    void *(*alloc)(struct fh_request *, size_t size);
    void **(*slot)(struct fh_request *);
    enum fh_result (*wait)(struct fh_request *, int fd, short events, uint32_t timeout_ms);
    int (*gone)(struct fh_request *);
};

/* The public head of a request; the rest of it is the server's. */
struct fh_request {
    const struct fh_host *host;
};

/* What a handler exports, as `const struct fh_handler fcgi_handler`. */
struct fh_handler {
    uint32_t abi;  /* FH_ABI; a file with another value is refused */
    uint32_t size; /* sizeof(struct fh_handler) */
    const char *name;

    /* Once in each child, after the fork; and in a process made for the check before a start
     * or a reload, and for -t. As the user of --user. <argument> is the route's argument, or
     * NULL; it lives as long as the child. Returns 0, or -1 with a reason in
     * <error>: then the server does not start. May be NULL. */
    int (*init)(const char *argument, void **state, char *error, size_t error_size);

    /* Answers one request. May block: then the whole child is busy, and requests
     * go to its idle siblings. Must not be NULL. */
    enum fh_result (*handle)(void *state, struct fh_request *request);

    /* Continues a request whose last call returned FH_WAIT. <revents> is what
     * poll(2) would report, 0 when the time has passed. NULL if handle() never
     * waits. */
    enum fh_result (*resume)(void *state, struct fh_request *request, short revents);

    /* The front end has gone while the request was waiting: let go of what the
     * request holds. resume() is not called again. May be NULL. */
    void (*cancel)(void *state, struct fh_request *request);

    /* Called when the child ends in an orderly way. May be NULL. */
    void (*fini)(void *state);
};

/* The value of the FastCGI parameter <name>, such as "REQUEST_METHOD"; NULL if
 * it was not sent. The header User-Agent is called "HTTP_USER_AGENT". If it was sent
 * twice, the first one counts; but request headers (HTTP_...) are joined by ", ", cookies by "; ".
 * NUL-terminated; its length is stored in <length> unless that is NULL. */
static inline const char *
fh_param(struct fh_request *request, const char *name, size_t *length)
{
    return request->host->param(request, name, length);
}

/* The value of <key> in the query string, decoded ('+' is a space, a broken
 * escape stays as it is); NULL if the key is absent, "" if it has no value. The
 * first one counts when a key appears twice. Keys are decoded, too, and
 * case-sensitive. May hold NUL bytes: then <length> tells. */
static inline const char *
fh_query(struct fh_request *request, const char *key, size_t *length)
{
    return request->host->query(request, key, length);
}

/* Reads up to <size> bytes of the request body. Returns the number read, 0 at
 * the end, -1 if the body was cut off. What is left unread is dropped. */
static inline ptrdiff_t
fh_read(struct fh_request *request, void *buffer, size_t size)
{
    return request->host->read(request, buffer, size);
}

/* Sets the status, 200 to 599; 200 if never called. Returns 0, or -1 if <code>
 * is out of range or the head of the answer has been sent. */
static inline int
fh_status(struct fh_request *request, int code)
{
    return request->host->status(request, code);
}

/* Adds a response header. Returns 0, or -1 if <name> is not a valid header name or belongs to the
 * web server (Connection, Transfer-Encoding and the like; the manual lists them), <value> holds a
 * control character other than a tab, the head is full (the manual gives the limit), or the head
 * has been sent.
 * Setting Content-Type again replaces it. */
static inline int
fh_header(struct fh_request *request, const char *name, const char *value)
{
    return request->host->header(request, name, value);
}

/* Appends to the body. Returns 0, or -1 when the front end has gone: then stop,
 * nobody reads the rest. Bodies that the method or the status forbids (HEAD,
 * 204, 304) are accepted and not sent. */
static inline int
fh_write(struct fh_request *request, const void *data, size_t length)
{
    return request->host->write(request, data, length);
}

/* fh_write() of a formatted text. Returns as fh_write(). */
__attribute__((format(printf, 2, 3))) static inline int
fh_print(struct fh_request *request, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = request->host->vprint(request, format, arguments);
    va_end(arguments);
    return result;
}

/* Logs one line with the place of the failure and returns FH_ERROR:
 * `return fh_fail(request, "no such table: %s", name);` The client sees a
 * neutral 500, never the text. */
__attribute__((format(printf, 4, 5))) static inline enum fh_result
fh_fail_at(struct fh_request *request, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum fh_result result = request->host->vfail(request, file, line, format, arguments);
    va_end(arguments);
    return result;
}
#define fh_fail(request, ...) fh_fail_at(request, __FILE__, __LINE__, __VA_ARGS__)

/* Memory that lives as long as the request and is never freed by the handler.
 * Aligned for any type, not cleared. NULL when the request's arena is full. */
static inline void *
fh_alloc(struct fh_request *request, size_t size)
{
    return request->host->alloc(request, size);
}

/* One pointer of the handler's own, kept with the request from handle() to
 * resume() and cancel(); NULL at first. */
static inline void **
fh_slot(struct fh_request *request)
{
    return request->host->slot(request);
}

/* Asks to be resumed when <fd> is ready for <events> (POLLIN, POLLOUT) or after
 * <timeout_ms>, whichever is first; <fd> -1 only waits for the time. The child
 * serves others meanwhile. Use as `return fh_wait(...)`: returns FH_WAIT, or
 * FH_ERROR if the wait cannot be set up. <fd> stays the handler's: close it only
 * after resume() or in cancel(). */
static inline enum fh_result
fh_wait(struct fh_request *request, int fd, short events, uint32_t timeout_ms)
{
    return request->host->wait(request, fd, events, timeout_ms);
}

/* 1 if the front end has closed the connection, so that nobody waits for the
 * answer; 0 otherwise. Cheap enough for every few milliseconds of work. */
static inline int
fh_gone(struct fh_request *request)
{
    return request->host->gone(request);
}

#endif
