/** A reporter for Node's test runner: the path of every test file in which something failed, each on a line of its own. */
export default async function* failedFiles(events) {
  const told = new Set();
  for await (const { type, data } of events) {
    const { file } = data ?? {};
    if (type !== 'test:fail' || file === undefined || data.todo !== undefined || told.has(file)) continue;
    told.add(file);
    yield `${file}\n`;
  }
}
