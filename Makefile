# Backend-stack testbed (GNU make). `make help` lists the targets; V=1 shows the commands.
#
# BUILD, CC, CFLAGS, LDFLAGS, PREFIX and DESTDIR may be set on the command line.
# Sanitizer builds live in folders of their own: build/asan, build/tsan.

BUILD   ?= build
CC      ?= gcc
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
MODE    ?=

HARDENING = -fstack-protector-strong -D_FORTIFY_SOURCE=3 -fPIE -fcf-protection
ifneq ($(MODE),)
HARDENING =
CFLAGS   = -O1 -g -fno-omit-frame-pointer -fsanitize=$(MODE)
LDFLAGS += -fsanitize=$(MODE)
endif

WARNINGS  = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
CPPFLAGS += -D_GNU_SOURCE
BASE      = -std=c11 $(WARNINGS) $(HARDENING) -MMD -MP
LINK      = -pie -Wl,-z,relro,-z,now

LUA_CFLAGS  = $(shell pkg-config --cflags luajit)
LUA_LIBS    = $(shell pkg-config --libs luajit)
FCGI_LIBS   = -lfcgi

# llhttp: a library where the release has one, else C sources of a package, compiled in.
LLHTTP_LIBS   := $(shell pkg-config --libs libllhttp 2>/dev/null)
LLHTTP_SOURCE  = /usr/share/llhttp
LLHTTP_CFLAGS := $(if $(LLHTTP_LIBS),$(shell pkg-config --cflags libllhttp),-I/usr/share/include/llhttp)
llhttp_obj    := $(if $(LLHTTP_LIBS),,$(addprefix $(BUILD)/obj/llhttp/,api.o http.o llhttp.o))

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)';)

server_src  := $(wildcard fcgi-server/*.c fcgi-server/*/*.c fcgi-server/*/*/*.c)
client_src  := $(wildcard bench/load-client/*.c bench/load-client/*/*.c)
handler_src := $(wildcard handlers/*.c)
floor_src   := $(wildcard bench/floors/*.c)
unit_src    := $(wildcard tests/unit/*/*_test.c)

server_obj  := $(server_src:%.c=$(BUILD)/obj/%.o)
client_obj  := $(client_src:%.c=$(BUILD)/obj/%.o) $(llhttp_obj)
handlers    := $(handler_src:handlers/%.c=$(BUILD)/handlers/%.so)
floor_bin   := $(floor_src:bench/floors/%.c=$(BUILD)/%)
unit_bin    := $(unit_src:%.c=$(BUILD)/%)

.DELETE_ON_ERROR:
.PHONY: all help setup bench bench-client bench-handlers bench-server tune test test-long tests-built clean install

all: $(BUILD)/fcgi-server $(BUILD)/load-client $(handlers) $(floor_bin) ## build everything

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(filter %akefile %.mk,$(MAKEFILE_LIST))

setup: ## install the Debian packages that are missing
	$(Q)scripts/setup

# --- programs -----------------------------------------------------------------

$(BUILD)/fcgi-server: $(server_obj) $(BUILD)/flags
	$(call say,LD,$@)$(CC) $(LINK) $(LDFLAGS) -o $@ $(server_obj) $(LUA_LIBS) $(FCGI_LIBS) -lm -ldl -lpthread

$(BUILD)/load-client: $(client_obj) $(BUILD)/flags
	$(call say,LD,$@)$(CC) $(LINK) $(LDFLAGS) -o $@ $(client_obj) $(LLHTTP_LIBS) -lm -lpthread

$(BUILD)/handlers/%.so: handlers/%.c fcgi-server/fcgi-handler.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,SO,$@)$(CC) $(CPPFLAGS) $(filter-out -fPIE -MMD -MP,$(BASE)) $(CFLAGS) -fPIC -shared -fvisibility=hidden \
		-Wl,-z,relro,-z,now $(LDFLAGS) -Ifcgi-server -o $@.new $< && mv -f $@.new $@

# Small programs of one file: floor responders and the like.
$(BUILD)/%: bench/floors/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(BASE)) $(CFLAGS) $(LINK) $(LDFLAGS) -o $@ $< $(FCGI_LIBS)

$(BUILD)/obj/fcgi-server/%.o: fcgi-server/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(BASE) $(CFLAGS) -Ifcgi-server $(LUA_CFLAGS) -c -o $@ $<

$(BUILD)/obj/bench/%.o: bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(BASE) $(CFLAGS) -Ibench/load-client $(LLHTTP_CFLAGS) -c -o $@ $<

$(BUILD)/obj/llhttp/%.o: $(LLHTTP_SOURCE)/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=c11 $(HARDENING) $(CFLAGS) -w $(LLHTTP_CFLAGS) -c -o $@ $<

# Rebuilds everything when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CPPFLAGS) $(BASE) $(CFLAGS) $(LINK) $(LDFLAGS)' | cmp -s - $@ || \
		printf '%s\n' '$(CC) $(CPPFLAGS) $(BASE) $(CFLAGS) $(LINK) $(LDFLAGS)' > $@
FORCE:

-include $(server_obj:.o=.d) $(client_obj:.o=.d)

# --- tests --------------------------------------------------------------------

# A unit test names in a comment, within its first 9 lines, the files it is linked with:
#     /* links: fcgi-server/request/record.c fcgi-server/request/query.c llhttp */
unit_links = $(shell sed -n '1,9s:^/\* links\: *\(.*\) \*/$$:\1:p' $(1))
define unit_rule
$(BUILD)/$(1:.c=): $(1) $(patsubst llhttp,$(llhttp_obj),$(patsubst %.c,$(BUILD)/obj/%.o,$(call unit_links,$(1)))) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,TEST,$$@)$$(CC) $$(CPPFLAGS) $$(filter-out -MMD -MP,$$(BASE)) $$(CFLAGS) $$(LUA_CFLAGS) -Ifcgi-server -Ibench/load-client $$(LLHTTP_CFLAGS) \
		$$(LINK) $$(LDFLAGS) -o $$@ $$(filter %.c %.o,$$^) -lcmocka $$(LUA_LIBS) $$(FCGI_LIBS) $$(LLHTTP_LIBS) -lm -ldl -lpthread
endef
$(foreach source,$(unit_src),$(eval $(call unit_rule,$(source))))

# Handlers that misbehave, for the tests only.
fixtures := $(patsubst tests/fixtures/%.c,$(BUILD)/fixtures/%.so,$(wildcard tests/fixtures/*.c))
$(BUILD)/fixtures/%.so: tests/fixtures/%.c fcgi-server/fcgi-handler.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,SO,$@)$(CC) $(CPPFLAGS) $(filter-out -fPIE -MMD -MP,$(BASE)) $(CFLAGS) -fPIC -shared $(LDFLAGS) -Ifcgi-server -o $@ $<

tests-built: all $(unit_bin) $(fixtures)

include tests/checks/checks.mk

# --- the main jobs: setup first, then a fresh make that knows the packages -----

bench: setup ## reproduce the five comparisons (DOCS=name PROFILE=documented)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)bench/bench run

tune: setup ## sweep the number of child processes and recommend one
	$(Q)$(MAKE) --no-print-directory all
	$(Q)bench/bench tune

bench-client: setup ## the load client against wrk, h2load and a bare epoll loop
	$(Q)$(MAKE) --no-print-directory all
	$(Q)bench/bench-client

bench-server: setup ## the server against a bare responder, libfcgi, php-fpm
	$(Q)$(MAKE) --no-print-directory all
	$(Q)bench/bench-server

bench-handlers: setup ## CPU time of a page in C, in Lua and in PHP
	$(Q)$(MAKE) --no-print-directory all
	$(Q)bench/bench-handlers

test: setup ## build and run the tests (TESTS=part-of-a-name)
	$(Q)$(MAKE) --no-print-directory tests-built
	$(Q)BUILD=$(BUILD) tests/run $(TESTS)

test-long: setup ## run the tests that take longer (TESTS=part-of-a-name)
	$(Q)$(MAKE) --no-print-directory tests-built
	$(Q)BUILD=$(BUILD) tests/run --long $(TESTS)

# Each file appears under its name at once and whole, as a new inode: a process that uses the old
# one keeps it.
put = $(Q)set -e; mkdir -p '$(3)'; for file in $(2); do name=$${file\#\#*/}; \
	install -m $(1) "$$file" '$(3)'/".$$name.new"; mv -f '$(3)'/".$$name.new" '$(3)'/"$$name"; done

install: all ## install below PREFIX (/usr/local); DESTDIR is put in front
	$(if $(filter /%,$(firstword $(PREFIX))),,$(error PREFIX=$(PREFIX): give an absolute path, such as /usr/local))
	$(call put,755,$(BUILD)/fcgi-server $(BUILD)/load-client,$(DESTDIR)$(PREFIX)/bin)
	$(call put,755,$(handlers),$(DESTDIR)$(PREFIX)/lib/fcgi-server)
	$(call put,644,handlers/*.lua,$(DESTDIR)$(PREFIX)/lib/fcgi-server)
	$(call put,644,handlers/lib/*.lua,$(DESTDIR)$(PREFIX)/lib/fcgi-server/lib)
	$(call put,644,fcgi-server/fcgi-handler.h,$(DESTDIR)$(PREFIX)/include)
	$(call put,644,conf/fcgi-server.lua,$(DESTDIR)$(PREFIX)/share/fcgi-server)
	$(call put,644,$(wildcard fcgi-server/*.3),$(DESTDIR)$(PREFIX)/share/man/man3)
	$(call put,644,$(wildcard fcgi-server/*.8),$(DESTDIR)$(PREFIX)/share/man/man8)
	$(call put,644,$(wildcard bench/load-client/*.1),$(DESTDIR)$(PREFIX)/share/man/man1)
	$(Q)sed -e 's:@PREFIX@:$(PREFIX):' -e "s:@ABI@:$$(sed -n 's/^.define FH_ABI *\([0-9]*\)u.*/\1/p' fcgi-server/fcgi-handler.h):" \
		fcgi-server/fcgi-handler.pc.in > $(BUILD)/fcgi-handler.pc
	$(call put,644,$(BUILD)/fcgi-handler.pc,$(DESTDIR)$(PREFIX)/lib/pkgconfig)
	$(Q)sed 's:/usr/local/:$(PREFIX)/:' conf/systemd/fcgi-server.service > $(BUILD)/fcgi-server.service
	$(call put,644,$(BUILD)/fcgi-server.service conf/systemd/fcgi-server.socket,$(DESTDIR)$(PREFIX)/lib/systemd/system)

clean: ## remove what was built
	rm -rf $(BUILD)
