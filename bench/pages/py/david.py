"""web.py application for uWSGI: /david answers 14 bytes."""

import web

urls = ("/(.*)", "Hello")


class Hello:
    def GET(self, name):
        web.header("Content-Type", "text/plain")
        return "Hello, " + (name or "world") + "!\n"


application = web.application(urls, globals()).wsgifunc()
