/* SPDX-License-Identifier: MIT */
/* The FastCGI program that everybody writes first. Listens on descriptor 0; start it with
 * `spawn-fcgi -F CHILDREN -s SOCKET -- libfcgi-loop`. Answers as fcgi-server's /echo. */
#include <fcgiapp.h>

int
main(void)
{
    FCGX_Request request;
    FCGX_Init();
    FCGX_InitRequest(&request, 0, 0);
    while (FCGX_Accept_r(&request) == 0) {
        FCGX_PutS("Content-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello world\n",
                  request.out);
    }
    return 0;
}
