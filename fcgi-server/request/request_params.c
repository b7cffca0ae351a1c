/* SPDX-License-Identifier: MIT */
/* request_params.c - the parameters of a request: see request.h */
#include "request/record.h"
#include "request/request.h"

#include <ctype.h>
#include <string.h>

int
request_reserve_params(struct request *request, size_t count)
{
    request->params = arena_alloc(&request->arena, count * sizeof *request->params);
    request->param_count = 0;
    return request->params == NULL ? -1 : 0;
}

void
request_add_param(struct request *request, struct request_param param)
{
    request->params[request->param_count++] = param;
}

int
request_set_params(struct request *request, char *bytes, size_t length)
{
    const char *end = bytes + length;
    const char *cursor = bytes;
    struct record_pair pair;
    size_t count = 0;
    int found;
    while ((found = record_next_pair(&cursor, end, &pair)) == 1)
        count++;
    if (found == -1)
        return 400;
    if (request_reserve_params(request, count) == -1)
        return 500;
    cursor = bytes;
    while (record_next_pair(&cursor, end, &pair) == 1) {
        request_add_param(request, (struct request_param){pair.name, pair.value, pair.name_length,
                                                          pair.value_length});
    }
    /* Only now: the NUL falls on the length byte of the pair behind. */
    for (size_t i = 0; i < count; i++) {
        const struct request_param *param = &request->params[i];
        bytes[param->value + param->value_length - bytes] = '\0';
    }
    return 0;
}

const char *
request_param(const struct request *request, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    for (size_t i = 0; i < request->param_count; i++) {
        const struct request_param *param = &request->params[i];
        if (param->name_length == name_length && memcmp(param->name, name, name_length) == 0) {
            if (length != NULL)
                *length = param->value_length;
            return param->value;
        }
    }
    return NULL;
}

const char *
request_path(struct request *request, size_t *length)
{
    size_t script_length = 0;
    size_t info_length = 0;
    const char *script = request_param(request, "SCRIPT_NAME", &script_length);
    const char *info = request_param(request, "PATH_INFO", &info_length);
    if (script_length + info_length == 0) {
        const char *uri = request_param(request, "DOCUMENT_URI", length);
        if (uri == NULL && (uri = request_param(request, "REQUEST_URI", length)) != NULL)
            *length = strcspn(uri, "?");
        if (uri == NULL || *length == 0) {
            uri = "/";
            *length = 1;
        }
        return uri;
    }
    *length = script_length + info_length;
    if (info_length == 0)
        return script;
    char *path = arena_alloc(&request->arena, *length + 1);
    if (path == NULL) {
        *length = script_length;
        return script;
    }
    memcpy(path, script == NULL ? "" : script, script_length);
    memcpy(path + script_length, info, info_length + 1);
    return path;
}

int
request_check_length(const struct request *request, uint64_t length)
{
    const char *announced = request_param(request, "CONTENT_LENGTH", NULL);
    uint64_t number = 0;
    if (announced == NULL || *announced == '\0')
        return 0;
    for (const char *digit = announced; *digit != '\0'; digit++) {
        if (!isdigit((unsigned char)*digit) || number > UINT64_MAX / 10 - 1)
            return 400;
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number == length ? 0 : 400;
}
