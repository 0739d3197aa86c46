/**
 * Answers that come at once from one engine and later from another, without writing anything twice: code that asks engines is a
 * generator that yields each answer, and `settle` runs it. It stays synchronous as long as every answer is there.
 */

export type Answer<T> = T | Promise<T>;

/** Yields answers, gets them settled, returns T. */
export type Steps<T> = Generator<unknown, T, unknown>;

/** `const value = yield* ask(engine.method())`, with the type that `yield` alone would lose. */
export function* ask<T>(answer: Answer<T>): Generator<unknown, T, unknown> {
  return answer instanceof Promise ? ((yield answer) as T) : answer;
}

export function settle<T>(steps: Steps<T>): Answer<T> {
  const first = steps.next();
  return first.done === true ? first.value : later(steps, first.value);
}

/** Each is asked whatever became of those before it. Throws what failed first. */
export function* askEach<T>(all: Iterable<T>, act: (each: T) => Answer<unknown>): Steps<void> {
  const failed: unknown[] = [];
  for (const each of all) {
    try {
      yield* ask(act(each));
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}

async function later<T>(steps: Steps<T>, asked: unknown): Promise<T> {
  let waited = asked;
  for (;;) {
    const next = await Promise.resolve(waited).then(
      (value) => steps.next(value),
      (error) => steps.throw(error),
    );
    if (next.done === true) return next.value;
    waited = next.value;
  }
}
