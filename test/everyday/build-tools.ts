/** Build tools that go by times, each with a project of two sources whose texts its product prints. */
export interface BuildTool {
  readonly name: string;
  /** Programs and files without which it is skipped. */
  readonly needs: readonly string[];
  /** Makes the project; `text(1)` and `text(2)` write the sources. */
  readonly before: string;
  readonly sources: readonly [string, string];
  /** The source that prints `word`. */
  readonly text: (which: 0 | 1, word: string) => string;
  /** Builds what is out of date, and prints both words. */
  readonly build: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly options?: readonly string[];
  readonly only?: 'root';
  /** Part of `npm test`. */
  readonly quick?: true;
}

const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** There once Maven has compiled anything for root. */
const mavenPlugin = '/root/.m2/repository/org/apache/maven/plugins/maven-compiler-plugin';
const rust = '/root/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin';

/** A program of two functions and a `main`, and `project`, which makes what the tool reads. */
const inC = (project: string): Pick<BuildTool, 'before' | 'sources' | 'text'> => ({
  before: `printf '#include <stdio.h>\\nconst char *one(void), *two(void);\\nint main(void) { puts(one()); puts(two()); }\\n' > main.c; ${project}`,
  sources: ['one.c', 'two.c'],
  text: (which, word) => `const char *${which === 0 ? 'one' : 'two'}(void) { return "${word}"; }`,
});

/** `cmake` with the generator of these words, and the command that builds with it. */
const byCmake = (program: string, generator: string, build: string): BuildTool => ({
  name: `cmake with ${program}`,
  needs: ['cmake', program, 'gcc'],
  ...inC(
    "printf 'cmake_minimum_required(VERSION 3.13)\\nproject(p C)\\nadd_executable(p main.c one.c two.c)\\n' > CMakeLists.txt",
  ),
  build: `(test -d build || cmake ${generator} -S . -B build) > /dev/null && ${build} build > /dev/null && build/p`,
});

export const buildTools: readonly BuildTool[] = [
  {
    name: 'make and a compiler',
    needs: ['make', 'gcc'],
    ...inC("printf 'p: main.o one.o two.o\\n\\tgcc -o p main.o one.o two.o\\n' > Makefile"),
    build: 'make -s && ./p',
    quick: true,
  },
  {
    name: "Python's compiled modules",
    needs: ['python3'],
    before: 'echo "import one, two; print(one.word); print(two.word)" > main.py',
    sources: ['one.py', 'two.py'],
    text: (_, word) => `word = '${word}'`,
    build: 'python3 main.py',
  },
  {
    name: 'ninja',
    needs: ['ninja', 'gcc'],
    ...inC(
      "printf 'rule cc\\n  command = gcc -c -o $out $in\\nrule link\\n  command = gcc -o $out $in\\nbuild main.o: cc main.c\\nbuild one.o: cc one.c\\nbuild two.o: cc two.c\\nbuild p: link main.o one.o two.o\\n' > build.ninja",
    ),
    build: 'ninja > /dev/null && ./p',
  },
  byCmake('make', '', 'cmake --build'),
  byCmake('ninja', '-G Ninja', 'ninja -C'),
  {
    name: 'cargo with a path dependency',
    needs: ['cargo', `${rust}/cargo`],
    environment: { PATH: `${rust}:${system}`, CARGO_NET_OFFLINE: 'true' },
    options: ['--read', '/root/.rustup'],
    only: 'root',
    before: `mkdir -p src dep/src; printf '[package]\\nname = "p"\\nversion = "0.1.0"\\nedition = "2021"\\n[dependencies]\\ndep = { path = "dep" }\\n' > Cargo.toml
      printf '[package]\\nname = "dep"\\nversion = "0.1.0"\\nedition = "2021"\\n' > dep/Cargo.toml`,
    sources: ['src/main.rs', 'dep/src/lib.rs'],
    text: (which, word) =>
      which === 0
        ? `fn main() { println!("${word}"); println!("{}", dep::word()); }`
        : `pub fn word() -> &'static str { "${word}" }`,
    build: 'cargo run -q',
  },
  {
    name: 'go',
    needs: ['/usr/local/go/bin/go'],
    environment: { PATH: `/usr/local/go/bin:${system}`, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' },
    before: "printf 'module p\\n\\ngo 1.20\\n' > go.mod; mkdir two",
    sources: ['main.go', 'two/two.go'],
    text: (which, word) =>
      which === 0
        ? `package main\nimport "p/two"\nfunc main() { print("${word}\\n", two.Word, "\\n") }`
        : `package two\nvar Word = "${word}"`,
    build: 'go build -o p . && ./p 2>&1',
  },
  {
    name: 'javac behind make',
    needs: ['javac', 'make'],
    before: "printf 'MAKEFLAGS += -r\\nall: One.class Two.class\\n%%.class: %%.java\\n\\tjavac $<\\n' > Makefile",
    sources: ['One.java', 'Two.java'],
    text: (which, word) =>
      `class ${which === 0 ? 'One' : 'Two'} { public static void main(String[] a) { System.out.println("${word}"); } }`,
    build: 'make -s && java -cp . One && java -cp . Two',
  },
  {
    name: 'maven',
    needs: ['mvn', 'javac', mavenPlugin],
    only: 'root',
    options: ['--read', '/root/.m2'],
    before: `mkdir -p src/main/java; echo '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties></project>' > pom.xml`,
    sources: ['src/main/java/One.java', 'src/main/java/Two.java'],
    text: (which, word) =>
      which === 0
        ? `class One { public static void main(String[] a) { System.out.println("${word}"); System.out.println(Two.word()); } }`
        : `class Two { static String word() { return "${word}"; } }`,
    build:
      'mvn -o -q -B -Dmaven.repo.local=/root/.m2/repository compile > log 2>&1 || cat log; java -cp target/classes One',
  },
];
