/** Node, npm and its relatives, without a network: packages come from the tree itself. */
import type { Flow } from '../flow.js';

const environment = {
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  npm_config_offline: 'true',
};
const local = `mkdir -p lib; printf '{"name":"lib","version":"1.0.0","bin":{"lib":"bin.js"},"scripts":{"test":"echo tested"}}' > lib/package.json; \
printf '#!/usr/bin/env node\\nconsole.log("from lib");\\n' > lib/bin.js; chmod +x lib/bin.js; echo 'module.exports = 1;' > lib/index.js; \
printf '{"name":"app","version":"1.0.0","dependencies":{"lib":"file:lib-1.0.0.tgz"},"scripts":{"build":"lib > out","test":"node --test"}}' > package.json; \
(cd lib; npm pack -s --pack-destination ..) > /dev/null; printf 'require("node:test")("adds", () => {});\\n' > a.test.js`;
const steady = (text: string) =>
  text
    .replace(/duration_ms [\d.]+/g, 'duration')
    .replace(/in \d+m?s/g, 'in')
    .replace(/\(.*?ms\)/g, '');

export const javascriptFlows: readonly Flow[] = [
  {
    name: 'node: scripts and files',
    before: 'echo 1 > a',
    run: `node -e 'const fs = require("fs"); fs.writeFileSync("b", fs.readFileSync("a")); fs.mkdirSync("x/y", {recursive: true}); fs.cpSync("x", "z", {recursive: true}); fs.rmSync("x", {recursive: true}); console.log(fs.readdirSync("."), process.cwd() === process.env.PWD || 1)'`,
  },
  {
    name: 'node: its test runner',
    before: `printf 'const t = require("node:test"); t("a", () => {}); t("b", () => { throw new Error("no"); });\\n' > a.test.js`,
    run: 'node --test --test-reporter=tap 2>&1 | grep -E "^# (pass|fail)|^not ok|^ok"',
  },
  {
    name: 'node: workers and children',
    run: `node -e 'const { Worker } = require("worker_threads"); const c = require("child_process"); for (let i = 0; i < 4; i++) new Worker("1", { eval: true }).on("exit", (x) => process.stdout.write(String(x))); console.log(c.execSync("echo child").toString())' | tr -d '\\n' | wc -c`,
  },
  {
    name: 'npm: install from a file and run',
    needs: ['npm'],
    before: local,
    environment,
    run: [
      'npm install -s; ls -A node_modules node_modules/.bin; npm run -s build; cat out',
      'npm test -s 2>&1 | grep -E "^# (pass|fail)|pass 1"; npm ls; node_modules/.bin/lib',
    ],
    tidy: steady,
    volatile: /node_modules\/\.package-lock\.json$/,
  },
  {
    name: 'npm: ci over what is installed',
    needs: ['npm'],
    before: `${local}; npm install -s --offline`,
    environment,
    run: 'npm ci -s; ls node_modules; cat node_modules/lib/index.js',
    volatile: /node_modules\/\.package-lock\.json$/,
  },
  {
    name: 'npm: uninstall',
    needs: ['npm'],
    before: `${local}; npm install -s --offline`,
    environment,
    run: 'npm uninstall -s lib; ls -A; cat package.json',
  },
  {
    name: 'npm: version, pack and pkg',
    needs: ['npm'],
    before: local,
    environment,
    run: 'npm pkg set description=x; npm version -s --no-git-tag-version patch; npm pack -s; tar tzf app-1.0.1.tgz | sort',
    volatile: /\.tgz$/,
  },
  {
    name: 'npm: workspaces and links',
    needs: ['npm'],
    before: `mkdir -p packages/a packages/b; printf '{"name":"a","version":"1.0.0","main":"i.js"}' > packages/a/package.json; echo 'module.exports=7' > packages/a/i.js; printf '{"name":"b","version":"1.0.0","dependencies":{"a":"*"},"scripts":{"x":"node -p 1+1"}}' > packages/b/package.json; printf '{"name":"r","private":true,"workspaces":["packages/*"]}' > package.json`,
    environment,
    run: [
      'npm install -s; ls -l node_modules | grep -c -- "->"',
      'cd packages/b; node -p "require(\\"a\\")"; npm run -s x -w b --prefix ../..',
    ],
    volatile: /node_modules\/\.package-lock\.json$/,
  },
  {
    name: 'yarn: install from a file',
    needs: ['yarn'],
    before: local,
    environment,
    // Root's own cache is below /usr/local/share, where what an earlier run left is older.
    run: 'yarn install --offline --silent --cache-folder .yarn; rm -rf .yarn; ls node_modules',
  },
  {
    name: 'pnpm: install from a file',
    needs: ['pnpm'],
    before: local,
    environment,
    run: 'pnpm install --offline --silent; ls -l node_modules | grep -c lib',
    volatile: /node_modules\/\./,
    leftOut: /node_modules\/\.(modules\.yaml|pnpm)/,
  },
  {
    name: 'a watcher sees changes',
    before: 'mkdir w; echo 1 > w/a',
    run: `timeout 20 node -e 'const fs = require("fs"); const w = fs.watch("w", (e, f) => { console.log(f); w.close(); }); setTimeout(() => fs.writeFileSync("w/a", "2"), 200)'`,
  },
];
