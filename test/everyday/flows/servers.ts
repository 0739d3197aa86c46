/** Servers, databases, clients on loopback, background processes. */
import { type Flow, known } from '../flow.js';

const postgres = '/usr/lib/postgresql/15/bin';

export const serverFlows: readonly Flow[] = [
  {
    name: 'sqlite: a database',
    quick: true,
    needs: ['sqlite3'],
    before: "sqlite3 db 'create table t (a); insert into t values (1);'",
    run: [
      "sqlite3 db 'insert into t values (2); select * from t;'",
      "sqlite3 db 'pragma journal_mode=wal; insert into t values (3); select count(*) from t; pragma integrity_check;'",
    ],
    volatile: /^db/,
  },
  {
    name: 'sqlite: two writers',
    needs: ['sqlite3'],
    run: "sqlite3 db 'create table t (a)'; for i in 1 2 3 4; do sqlite3 -cmd '.timeout 10000' db \"insert into t values ($i)\" & done; wait; sqlite3 db 'select count(*) from t'",
    volatile: /^db/,
  },
  {
    name: 'postgresql: a cluster of one’s own',
    needs: [known, `${postgres}/initdb`],
    only: 'an unprivileged user',
    run: `D=$PWD/data; ${postgres}/initdb -D $D -A trust -U me --no-sync -E UTF8 --locale=C > /dev/null 2>&1; echo $?; ${postgres}/pg_ctl -D $D -w -s -o "-c listen_addresses='' -k /tmp" -l log start; echo $?; psql -h /tmp -U me -At -c 'create table t (a int); insert into t select generate_series(1,100); select sum(a) from t' postgres; ${postgres}/pg_ctl -D $D -s -m fast stop; echo $?`,
    volatile: /^(data\/|log)/,
    leftOut: /^data\/|^log/,
  },
  {
    name: 'redis: a server on a socket',
    needs: ['redis-server', 'redis-cli'],
    run: 'redis-server --port 0 --unixsocket /tmp/r.sock --dir . --daemonize yes > /dev/null; for i in $(seq 200); do redis-cli -s /tmp/r.sock ping 2>/dev/null | grep -q PONG && break; sleep 0.2; done; redis-cli -s /tmp/r.sock set a 1; redis-cli -s /tmp/r.sock get a; redis-cli -s /tmp/r.sock shutdown save; for i in $(seq 200); do [ -e dump.rdb ] && break; sleep 0.2; done; ls',
    volatile: /rdb$/,
  },
  {
    name: 'a web server and a client',
    quick: true,
    needs: ['curl', '/usr/bin/python3'],
    before: 'echo page > index.html',
    run: `port=$((18000 + $$ % 2000)); /usr/bin/python3 -m http.server --bind 127.0.0.1 $port 2> /dev/null & p=$!; for i in $(seq 200); do curl -sf http://127.0.0.1:$port/ && break; sleep 0.1; done; kill $p; wait $p 2> /dev/null; echo $?`,
  },
  {
    name: 'node: server and client',
    run: `node -e 'const h = require("http"); const s = h.createServer((q, r) => r.end(q.url)).listen(0, "localhost", () => h.get({ port: s.address().port, host: "localhost", path: "/x" }, (r) => r.on("data", (d) => { console.log(String(d)); s.close(); })))'`,
  },
  {
    name: 'unix sockets',
    needs: ['/usr/bin/python3'],
    run: `/usr/bin/python3 -c 'import socket, os
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("s"); a, _ = s.accept(); a.send(b"hi"); print(c.recv(9)); os.unlink("s")'`,
  },
  {
    name: 'udp and ipv6 on loopback',
    needs: ['/usr/bin/python3'],
    run: `/usr/bin/python3 -c 'import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    s = socket.socket(family, socket.SOCK_DGRAM); s.bind((host, 0)); s.sendto(b"x", s.getsockname()); print(s.recv(9))'`,
  },
  {
    name: 'processes in the background',
    run: 'for i in 1 2 3; do (sleep 0.1; echo $i > $i) & done; wait; ls; sleep 100 & kill $!; wait $! 2>/dev/null; echo $?',
  },
  {
    name: 'signals and traps',
    run: "sh -c 'trap \"echo caught; exit 7\" TERM; kill -TERM $$'; echo $?; trap 'echo bye' EXIT; (exit 3); echo $?",
  },
  {
    name: 'names: localhost resolves',
    quick: true,
    needs: ['getent'],
    run: 'getent ahostsv4 localhost | head -1 | cut -d" " -f1; getent passwd root | cut -d: -f1,3; getent services http/tcp | sed "s/  */ /g"',
  },
];
