import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proxyEnvironment } from './environment.js';

describe('the environment', () => {
  it('names the proxy in every form that programs read, and leaves loopback alone', () => {
    const environment = proxyEnvironment(3128);
    for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
      assert.equal(environment[name], 'http://127.0.0.1:3128');
      assert.equal(environment[name.toUpperCase()], environment[name]);
    }
    assert.equal(environment['npm_config_https_proxy'], 'http://127.0.0.1:3128');
    assert.equal(environment['NO_PROXY'], 'localhost,127.0.0.1,::1');
    assert.equal(environment['NODE_USE_ENV_PROXY'], '1');
    assert.equal(environment['CTX_SOCKS_PROXY'], 'socks5h://127.0.0.1:3128');
  });
});
