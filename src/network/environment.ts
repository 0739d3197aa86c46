/**
 * The variables by which programs find the proxy on the jail's loopback. They are a convenience: a program that ignores
 * them reaches nothing, since the jail has no other way out.
 */
import type { Network } from '../authority/network.js';

const loopback = ['localhost', '127.0.0.1', '::1'];

/**
 * What is asked for without the proxy: the jail's own servers. A name of loopback that is granted means the host's, and can be
 * reached by the proxy alone; the variable has no way to say it of one port.
 */
function direct(network: Network): string {
  const granted = network.kind === 'hosts' ? network.hosts : [];
  const isGranted = (name: string) => granted.some((host) => host.replace(/[[\]]|:\d+$/g, '') === name);
  return loopback.filter((name) => !isGranted(name)).join(',');
}

/** `port` is the proxy's on the jail's 127.0.0.1. */
export function proxyEnvironment(port: number, network: Network): Readonly<Record<string, string>> {
  const address = `http://127.0.0.1:${port}`;
  const own = direct(network);
  return Object.freeze({
    // curl reads HTTP_PROXY only in lower case; others only in upper case.
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    http_proxy: address,
    https_proxy: address,
    // Not socks5h: Python's httpx, and with it the SDKs of model providers, fails to start where ALL_PROXY names SOCKS
    // and no SOCKS package is installed. CONNECT carries any TCP as well.
    ALL_PROXY: address,
    all_proxy: address,
    NO_PROXY: own,
    no_proxy: own,
    npm_config_proxy: address,
    npm_config_https_proxy: address,
    npm_config_noproxy: own,
    // Node from 22.21 and 24.5: fetch and node:http heed the variables above.
    NODE_USE_ENV_PROXY: '1',
    /** For what speaks SOCKS and is told so: `curl --proxy $CTX_SOCKS_PROXY`, an ssh ProxyCommand. */
    CTX_SOCKS_PROXY: `socks5h://127.0.0.1:${port}`,
  });
}
