import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyPublicNetwork, hostNetwork } from '../authority/network.js';
import { proxyEnvironment } from './environment.js';

describe('the environment', () => {
  it('names the proxy in every form that programs read, and leaves loopback alone', () => {
    const environment = proxyEnvironment(3128, anyPublicNetwork);
    const names = `HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy npm_config_proxy
      npm_config_https_proxy npm_config_noproxy NODE_USE_ENV_PROXY CTX_SOCKS_PROXY`;
    assert.deepEqual(Object.keys(environment).sort(), names.split(/\s+/).sort());
    for (const name of ['no_proxy', 'npm_config_noproxy']) assert.equal(environment[name], environment['NO_PROXY']);
    assert.equal(environment['npm_config_proxy'], environment['http_proxy']);
    for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
      assert.equal(environment[name], 'http://127.0.0.1:3128');
      assert.equal(environment[name.toUpperCase()], environment[name]);
    }
    assert.equal(environment['npm_config_https_proxy'], 'http://127.0.0.1:3128');
    assert.equal(environment['NO_PROXY'], 'localhost,127.0.0.1,::1');
    assert.equal(environment['NODE_USE_ENV_PROXY'], '1');
    assert.equal(environment['CTX_SOCKS_PROXY'], 'socks5h://127.0.0.1:3128');
  });

  it('leads to the proxy where a name of loopback is granted, and only by that name', () => {
    const own = (...hosts: readonly string[]) => proxyEnvironment(3128, hostNetwork(hosts))['NO_PROXY'];
    assert.equal(own('127.0.0.1:8080', 'a.example:443'), 'localhost,::1');
    assert.equal(own('localhost:1', '[::1]:1'), '127.0.0.1');
    assert.equal(own('localhost.example:1', '[::ffff:127.0.0.1]:1'), 'localhost,127.0.0.1,::1');
  });
});
