/** What is really tried in the jail, and how it went: the words of a Node script, which is given its questions as JSON. */

export interface ProbeQuestion {
  readonly access: 'read' | 'write' | 'exec' | 'connect';
  readonly what: string;
}

/** What is tried leaves nothing behind, so that the next question finds what this one found. */
export const probeScript = `
const fs = require('node:fs');
const net = require('node:net');
const { spawnSync } = require('node:child_process');
const questions = JSON.parse(process.argv[1]);
const attempt = (act) => { try { act(); return 'allowed'; } catch (error) { return error.code || String(error); } };
const isDirectory = (path) => { try { return fs.statSync(path).isDirectory(); } catch { return false; } };
const exists = (path) => { try { fs.statSync(path); return true; } catch { return false; } };
const tries = {
  read: (path) => attempt(() => (isDirectory(path) ? fs.readdirSync(path) : fs.closeSync(fs.openSync(path, 'r')))),
  write: (path) => attempt(() => {
    if (isDirectory(path)) {
      fs.mkdirSync(path + '/.made');
      fs.rmdirSync(path + '/.made');
      return;
    }
    const was = exists(path);
    fs.closeSync(fs.openSync(path, fs.constants.O_WRONLY | (was ? 0 : fs.constants.O_CREAT), 0o600));
    if (!was) fs.unlinkSync(fs.realpathSync.native(path));
  }),
  exec: (path) => {
    const { error, status } = spawnSync(path.includes('/') ? path : './' + path, { stdio: 'ignore' });
    return error === undefined || error.code === undefined ? 'allowed' : error.code;
  },
};
const connect = (hostPort) => new Promise((settle) => {
  const proxy = process.env.HTTPS_PROXY;
  if (proxy === undefined) return settle('no proxy');
  const { hostname, port } = new URL(proxy);
  const socket = net.connect(Number(port), hostname, () =>
    socket.write('CONNECT ' + hostPort + ' HTTP/1.1\\r\\nHost: ' + hostPort + '\\r\\n\\r\\n'));
  socket.once('data', (bytes) => {
    const status = bytes.toString('latin1').split(' ')[1];
    settle(status === '403' ? 'refused' : 'allowed');
    socket.destroy();
  });
  socket.once('error', (error) => settle(error.code));
});
(async () => {
  const answers = [];
  for (const { access, what } of questions) {
    answers.push(access === 'connect' ? await connect(what) : tries[access](what));
  }
  console.log(JSON.stringify(answers));
})();
`;
