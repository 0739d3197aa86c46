/** Certificates that tests sign themselves. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function makeCertificate(directory: string, name: string): { key: string; cert: string } {
  const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      `/CN=${name}`,
      '-addext',
      `subjectAltName=DNS:${name}`,
    ],
    { stdio: 'ignore' },
  );
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

/**
 * A server that gives a new ticket with every connection, also with one that takes a session up again. It answers with a page that says
 * which it was. `makeCertificate` has made its files there.
 */
export async function renewingServer(
  directory: string,
  name: string,
): Promise<{ port: number; close(): Promise<void> }> {
  const files = ['-key', join(directory, `${name}.key`), '-cert', join(directory, `${name}.pem`)];
  const server = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', '-www', ...files], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  const close = () => {
    server.kill();
    return ended;
  };
  let said = '';
  for await (const chunk of server.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += chunk;
    const [, port] = /^ACCEPT .*:(\d+)$/m.exec(said) ?? [];
    if (port === undefined) continue;
    server.stdout.resume();
    return { port: Number(port), close };
  }
  throw new Error(`openssl s_server did not start: ${said}`);
}

export function withoutOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'openssl is not installed, and certificates are made with it';
  }
}
