# Checks beyond the tests: linters, sanitizers, coverage, fuzzing, chaos, soak.
# Each kind of build lives in a folder of its own under build/.

.PHONY: lint asan tsan analyze valgrind coverage fuzz fuzz-built chaos soak overload

lint: ## static checks: cppcheck, shellcheck, luacheck, manuals, who may call what
	$(Q)tests/checks/lint

asan: ## the tests on a build with AddressSanitizer and UndefinedBehaviorSanitizer
	$(Q)$(MAKE) --no-print-directory MODE=address,undefined BUILD=build/asan tests-built
	$(Q)ASAN_OPTIONS=detect_leaks=0:$$ASAN_OPTIONS UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		SANITIZER=asan LIMIT=300 BUILD=build/asan tests/run $(TESTS)

tsan: ## the load client's tests on a build with ThreadSanitizer
	$(Q)$(MAKE) --no-print-directory MODE=thread BUILD=build/tsan tests-built
	$(Q)TSAN_OPTIONS=halt_on_error=1 SANITIZER=tsan LIMIT=300 BUILD=build/tsan tests/run $(or $(TESTS),client)

analyze: ## slow static analysis: gcc -fanalyzer, clang-tidy
	$(Q)tests/checks/analyze

valgrind: all ## both programs under valgrind
	$(Q)tests/run --long valgrind

# What ends or becomes another program would drop its counters.
COVERAGE_EXIT = build/coverage/coverage-exit.o
COVERAGE_WRAP = -Wl,--wrap=_exit,--wrap=execv,--wrap=setuid
coverage: ## lines that the tests execute, by file
	@mkdir -p build/coverage
	$(Q)$(CC) -O1 -c -o $(COVERAGE_EXIT) tests/lib/coverage-exit.c
	$(Q)find build/coverage -name '*.gcda' -delete
	$(Q)$(MAKE) --no-print-directory BUILD=build/coverage HARDENING=-fPIE CFLAGS='-O0 -g --coverage' \
		LDFLAGS='--coverage $(COVERAGE_WRAP) $(CURDIR)/$(COVERAGE_EXIT)' tests-built
	$(Q)SANITIZER=coverage LIMIT=300 BUILD=build/coverage tests/run $(TESTS); \
		status=$$?; tests/checks/coverage build/coverage && exit $$status

# --- fuzzing: one target a file, linked with what its "links" line names --------

fuzz_src := $(wildcard tests/fuzz/*.c)
fuzz_bin := $(fuzz_src:tests/fuzz/%.c=build/fuzz/%)
FUZZ_FLAGS = -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -Ifcgi-server -Ibench/load-client $(LLHTTP_CFLAGS) -Wall -Wextra -Wno-unused-parameter # llhttp has a hundred
define fuzz_rule
build/fuzz/$(basename $(notdir $(1))): $(1) $(patsubst llhttp,$(if $(LLHTTP_LIBS),,$(llhttp_obj:$(BUILD)/obj/llhttp/%.o=$(LLHTTP_SOURCE)/%.c)),$(call unit_links,$(1)))
	@mkdir -p $$(@D)
	$$(call say,FUZZ,$$@)clang $$(FUZZ_FLAGS) $$(LUA_CFLAGS) -o $$@ $$^ $$(LUA_LIBS) $$(LLHTTP_LIBS) -lm -ldl -lpthread
endef
$(foreach source,$(fuzz_src),$(eval $(call fuzz_rule,$(source))))

fuzz-built: $(fuzz_bin)

fuzz: fuzz-built ## fuzz every target (FUZZ_S=seconds each, FUZZ=part-of-a-name)
	$(Q)tests/fuzz/run $(or $(FUZZ_S),600) $(FUZZ)

# --- long runs -------------------------------------------------------------------

chaos: tests-built ## mixed load under random mishaps (CHAOS_S=seconds, default 600)
	$(Q)CHAOS_S=$(or $(CHAOS_S),600) LIMIT=$$(($(or $(CHAOS_S),600) * 2 + 300)) tests/run --long chaos

soak: tests-built ## an hour of load; memory and descriptors must stay flat (SOAK_S=seconds)
	$(Q)SOAK_S=$(or $(SOAK_S),3600) LIMIT=$$(($(or $(SOAK_S),3600) + 300)) tests/run --long soak
