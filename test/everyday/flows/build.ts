/** Builds: what was built before stays valid, what changed is built again. */
import { type Flow, known } from '../flow.js';

const makefile = "printf 'out: in\\n\\tcp in out\\n\\techo built\\n' > Makefile; echo old > in; make -s";
const program = 'printf "#include <stdio.h>\\nint main(void) { puts(\\"hello\\"); return 0; }\\n" > main.c';
const cmake = `${program}; printf 'cmake_minimum_required(VERSION 3.13)\\nproject(p C)\\nadd_executable(p main.c)\\nenable_testing()\\nadd_test(NAME t COMMAND p)\\n' > CMakeLists.txt`;
const rustup = '/root/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin';
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const buildFlows: readonly Flow[] = [
  { name: 'make: nothing to do', needs: ['make'], before: makefile, run: 'make -s; make' },
  {
    name: 'make: what changed is built again',
    needs: ['make'],
    before: `${makefile}; touch -d 2020-01-01 in; touch -d 2020-01-02 out`,
    quick: true,
    run: ['echo new > in', 'make; make; cat out'],
  },
  {
    name: 'make: a touch is enough',
    needs: ['make'],
    before: makefile,
    run: ['touch in', 'make; make -q && echo done'],
  },
  {
    name: 'make: in parallel',
    needs: ['make'],
    before: "printf 'all: a b c d\\n%%:\\n\\techo x > $@\\n' > Makefile",
    run: 'make -s -j4; ls; make -q -j4; echo $?',
  },
  {
    name: 'c: compile and run',
    needs: ['gcc', 'make'],
    before: `${program}; printf 'p: main.o\\n\\t$(CC) -o p main.o\\n' > Makefile`,
    run: ['make', './p; make; touch main.c; make; file -b p 2>/dev/null | cut -c1-3'],
  },
  {
    name: 'c++: compile and run',
    needs: ['g++'],
    before: "printf '#include <iostream>\\nint main() { std::cout << 1 << std::endl; }\\n' > a.cc",
    run: 'g++ -O1 -o a a.cc && ./a',
  },
  {
    name: 'cmake: configure, build, test',
    needs: ['cmake', 'gcc'],
    before: cmake,
    run: [
      'cmake -S . -B build > log && cmake --build build > log2 && build/p',
      'cmake --build build | tail -1; ctest --test-dir build 2>&1 | grep passed; rm log log2',
    ],
    volatile: /^build\//,
    leftOut: /^build\/(CMakeFiles\/.*(log|yaml)|Testing)/,
  },
  {
    name: 'cmake with ninja',
    needs: ['cmake', 'ninja', 'gcc'],
    before: cmake,
    run: [
      'cmake -G Ninja -S . -B build > /dev/null && ninja -C build | tail -1 | cut -c1-5; build/p',
      'ninja -C build | tail -1',
    ],
    volatile: /^build\//,
    leftOut: /^build\/CMakeFiles\/.*(log|yaml)/,
  },
  {
    name: 'cargo: new, build, test',
    needs: ['cargo'],
    environment: { PATH: `${rustup}:${path}`, CARGO_NET_OFFLINE: 'true' },
    options: ['--read', '/root/.rustup'],
    before: 'cargo new -q --vcs none --lib p',
    run: [
      'cd p; cargo build -q; cargo test -q 2>&1 | grep "test result" | sed "s/finished.*//"',
      'cd p; cargo build 2>&1 | grep -c Compiling; echo "// x" >> src/lib.rs; cargo build 2>&1 | grep -c Compiling',
    ],
    volatile: /target\//,
    leftOut: /target\/.*(incremental|\.lock|\.cargo-lock|deps|fingerprint)/,
    only: 'root',
  },
  {
    name: 'go: build, test, vet',
    needs: ['/usr/local/go/bin/go'],
    environment: { PATH: `/usr/local/go/bin:${path}`, GOPROXY: 'off', GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' },
    before: `printf 'module p\\n\\ngo 1.20\\n' > go.mod; printf 'package main\\nfunc main() { println("hi") }\\n' > main.go; printf 'package main\\nimport "testing"\\nfunc TestX(t *testing.T) {}\\n' > main_test.go`,
    run: ['go build -o p . && ./p', 'go test ./... | cut -f1,2; go vet ./...; gofmt -l .; go run .'],
    seconds: 900,
    volatile: /^p$/,
  },
  {
    name: 'java: compile and run',
    needs: ['javac', 'java'],
    before:
      'printf \'class Main { public static void main(String[] a) { System.out.println("hi"); } }\\n\' > Main.java',
    run: 'javac Main.java && java -cp . Main; jar cf m.jar Main.class; jar tf m.jar',
    volatile: /\.jar$/,
  },
  {
    name: 'java: rename a directory',
    needs: ['javac', 'java'],
    before: `mkdir d; echo x > d/a; printf 'import java.nio.file.*; class Main { public static void main(String[] a) throws Exception { Files.move(Path.of("d"), Path.of("f")); } }\\n' > Main.java`,
    run: 'java Main.java; find . | sort',
  },
  {
    name: 'maven: offline without plugins',
    needs: [known, 'mvn'],
    before:
      "printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version></project>' > pom.xml",
    // Not into `head`: where that has ended first, Maven throws at its last write, outside as well.
    run: 'mvn -o -q -B help:help > log 2>&1; echo $?; mvn -v > log; head -1 log; rm -f log',
    tidy: (text) => text.replace(/\u001b\[[0-9;]*m/g, ''),
  },
  {
    name: 'perl and awk',
    needs: ['perl'],
    run: 'perl -e \'mkdir "d"; rename "d", "e" or die $!; print -d "e" ? "ok\\n" : "no\\n"\'; awk \'BEGIN { print 1 > "f" }\'; cat f',
  },
];
