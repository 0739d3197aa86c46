/** For the module loader: `node:test` is what collects tests (node-tests.mjs). */
let instead;

export function initialize(url) {
  instead = url;
}

export function resolve(specifier, context, next) {
  return specifier === 'node:test' ? { url: instead, shortCircuit: true } : next(specifier, context);
}
