/**
 * The variables by which programs find the proxy on the jail's loopback. They are a convenience: a program that ignores
 * them reaches nothing, since the jail has no other way out.
 */

const direct = 'localhost,127.0.0.1,::1';

/** `port` is the proxy's on the jail's 127.0.0.1. */
export function proxyEnvironment(port: number): Readonly<Record<string, string>> {
  const address = `http://127.0.0.1:${port}`;
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
    NO_PROXY: direct,
    no_proxy: direct,
    npm_config_proxy: address,
    npm_config_https_proxy: address,
    npm_config_noproxy: direct,
    // Node from 22.21 and 24.5: fetch and node:http heed the variables above.
    NODE_USE_ENV_PROXY: '1',
    /** For what speaks SOCKS and is told so: `curl --proxy $CTX_SOCKS_PROXY`, an ssh ProxyCommand. */
    CTX_SOCKS_PROXY: `socks5h://127.0.0.1:${port}`,
  });
}
