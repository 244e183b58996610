# The front door. It holds no compile rule: CMake builds, scripts/ do the work.
PREFIX ?= /usr/local

.PHONY: help demo test check asan fuzz bench golden-update install uninstall clean

help:
	@echo "make demo           install what is missing, build, run the main job on the bundled recording"
	@echo "make test           all tests; the last line sums them"
	@echo "make check          format, lint, floors, names, headers, scripts: what CI checks first"
	@echo "make asan           build and test under AddressSanitizer and UBSan only"
	@echo "make fuzz           fuzz every parser (SECONDS_EACH=60)"
	@echo "make bench          measure, write docs/results.md"
	@echo "make golden-update  accept the program's output as the expected one; look at the diff"
	@echo "make install        to PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make uninstall      remove what make install has put in place"
	@echo "make clean          remove build/ and out/"

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

check:
	@scripts/check.sh

asan:
	@scripts/setup.sh test
	@scripts/build.sh asan
	@ctest --preset asan

fuzz:
	@scripts/fuzz.sh

bench:
	@bench/run.sh

golden-update:
	@scripts/golden_update.sh

install:
	@scripts/install.sh "$(PREFIX)"

uninstall:
	@cmake -P cmake/uninstall.cmake build/release/install_manifest.txt

clean:
	rm -rf build out
