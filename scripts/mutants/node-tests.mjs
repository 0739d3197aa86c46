/**
 * StrykerJS's way to the tests of a room: Node's own tests, kept in one process and run again for each change. To start a process for
 * each costs a second, and a change that the tests notice is noticed in milliseconds.
 *
 * Test files import `node:test`; here that is the small part of it that the pure rooms need (collected-tests.mjs). What a change leaves
 * behind in the process must not count against the next one: a test that failed is tried once more without any change, and where it
 * fails again the process ends, and StrykerJS tries that change in a new one.
 */
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import {
  DryRunStatus,
  determineHitLimitReached,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner';
import { collectedTests, collectFrom, runTest } from './collected-tests.mjs';

const dirtyExitCode = 3;

/**
 * What a module does when it is loaded is tried in a process of its own, and which tests meet it is not known. It has to be noticed by
 * the tests beside the sources: those with thousands of random cases would take seconds for each row of a table.
 */
const beside = 'dist/js/src/';

class NodeTests {
  static inject = tokens(commonTokens.options);
  #files;
  #isLoaded = false;
  #state;

  constructor({ nodeTests }) {
    this.#files = nodeTests.files;
    globalThis.__stryker__ ??= {};
    this.#state = globalThis.__stryker__;
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  async init() {
    register('./node-test-hook.mjs', import.meta.url, { data: new URL('collected-tests.mjs', import.meta.url).href });
  }

  async #load() {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    for (const file of this.#files) await collectFrom(file, () => import(pathToFileURL(file).href));
  }

  /** Twice, since a test that cannot be run again would notice everything. */
  async dryRun() {
    await this.#load();
    const tests = await this.#run(collectedTests(), true);
    const again = await this.#run(collectedTests(), true);
    const result = [...tests, ...again].find(({ status }) => status === TestStatus.Failed);
    return {
      status: DryRunStatus.Complete,
      tests: tests.map((test) => (test.id === result?.id ? result : test)),
      mutantCoverage: this.#state.mutantCoverage,
    };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation, disableBail }) {
    const state = this.#state;
    state.hitLimit = hitLimit;
    state.hitCount = hitLimit === undefined ? undefined : 0;
    if (mutantActivation === 'static') state.activeMutant = activeMutant.id;
    try {
      await this.#load();
    } catch (error) {
      return { status: DryRunStatus.Error, errorMessage: String(error) };
    }
    state.activeMutant = activeMutant.id;
    const isChosen = ({ id, file }) => testFilter?.includes(id) ?? file.startsWith(beside);
    const chosen = collectedTests().filter(isChosen);
    const tests = await this.#run(chosen, disableBail);
    state.activeMutant = undefined;
    const limited = determineHitLimitReached(state.hitCount, hitLimit);
    const failed = tests.find(({ status }) => status === TestStatus.Failed);
    if (failed !== undefined && mutantActivation !== 'static') {
      state.hitCount = undefined;
      const [again] = await this.#run(
        chosen.filter(({ id }) => id === failed.id),
        true,
      );
      if (again?.status === TestStatus.Failed) process.exit(dirtyExitCode);
    }
    return toMutantRunResult(limited ?? { status: DryRunStatus.Complete, tests });
  }

  async #run(chosen, goesOn) {
    const results = [];
    for (const test of chosen) {
      const started = performance.now();
      this.#state.currentTestId = test.id;
      const failure = await runTest(test);
      this.#state.currentTestId = undefined;
      const { id, file } = test;
      const told = { id, name: id, fileName: file, timeSpentMs: performance.now() - started };
      if (failure === undefined) results.push({ ...told, status: TestStatus.Success });
      else results.push({ ...told, status: TestStatus.Failed, failureMessage: String(failure) });
      if (failure !== undefined && !goesOn) break;
    }
    return results;
  }
}

export const strykerValidationSchema = {
  type: 'object',
  properties: {
    nodeTests: {
      type: 'object',
      properties: { files: { type: 'array', items: { type: 'string' } } },
      required: ['files'],
    },
  },
};

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'node-tests', NodeTests)];
