/** In the place of `node:test`: suites, tests and hooks, collected when they are declared, to be run as often as wanted. */
const root = { name: '', beforeAll: [], afterAll: [], beforeEach: [], afterEach: [], above: undefined, skip: false };
let suite = root;
let from = '';
const tests = [];

export function collectedTests() {
  return tests;
}

/** A file has a suite of its own: its hooks are for its tests. */
export async function collectFrom(file, load) {
  from = file;
  suite = newSuite('', {}, root);
  await load();
  suite = root;
}

function newSuite(name, options, above) {
  return { name, beforeAll: [], afterAll: [], beforeEach: [], afterEach: [], above, skip: isSkipped(options) };
}

function isSkipped({ skip, todo } = {}) {
  return (skip !== undefined && skip !== false) || todo === true;
}

function given(first, second) {
  return typeof first === 'function' ? [{}, first] : [first ?? {}, second];
}

export function describe(name, first, second) {
  const [options, declare] = given(first, second);
  const outer = suite;
  suite = newSuite(name, options, outer);
  declare?.({ name });
  suite = outer;
}

export function it(name, first, second) {
  const [options, act] = given(first, second);
  const suites = [];
  for (let at = suite; at !== undefined; at = at.above) suites.unshift(at);
  if (act === undefined || isSkipped(options) || suites.some(({ skip }) => skip)) return;
  const names = [...suites.map((each) => each.name), name].filter((each) => each !== '').join(' > ');
  const twins = tests.filter((each) => each.file === from && each.names === names).length;
  const id = `${from} ${names}${twins === 0 ? '' : ` #${twins + 1}`}`;
  tests.push({ id, file: from, names, suites, act });
}
it.skip = () => undefined;
it.todo = () => undefined;
describe.skip = () => undefined;

export const test = it;
export const before = (act) => void suite.beforeAll.push(act);
export const after = (act) => void suite.afterAll.push(act);
export const beforeEach = (act) => void suite.beforeEach.push(act);
export const afterEach = (act) => void suite.afterEach.push(act);

/** Each test alone, with all the hooks around it: what failed, or undefined. */
export async function runTest({ suites, act, names }) {
  const ends = [];
  const context = { name: names, after: (end) => void ends.push(end), diagnostic: () => undefined };
  const inner = [...suites].reverse();
  const all = (list, kind) => list.flatMap((each) => each[kind]);
  const todo = [...all(suites, 'beforeAll'), ...all(suites, 'beforeEach'), act];
  const failures = [];
  try {
    for (const each of todo) await each(context);
  } catch (error) {
    failures.push(error);
  }
  for (const end of [...ends, ...all(inner, 'afterEach'), ...all(inner, 'afterAll')]) {
    try {
      await end(context);
    } catch (error) {
      failures.push(error);
    }
  }
  return failures[0];
}
