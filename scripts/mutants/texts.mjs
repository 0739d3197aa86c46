/**
 * What StrykerJS leaves alone: the words of messages. A test that has to know them fails for each better word, and says nothing about
 * what is decided: tests match an error's `code` and its values (CONTRIBUTING, "How we write"). Values that only look like words, names
 * of kinds, classes and options, are changed like everything else.
 */
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

/** Functions of ours that end in an error, and which of their arguments are its text. */
const all = [0, 1, 2, 3];
const refusing = new Map([
  ...['refuse', 'refuseAt', 'fail', 'Error', 'TypeError'].map((name) => [name, all]),
  // Its code comes first, a name third.
  ['failure', [1, 3, 4]],
  // Why a command is taken for what it is, which a person reads.
  ['unreadable', [1]],
  ['holding', [1]],
  ['reading', [2]],
]);
/** Of an ErrnoError; its code and path are values. */
const texts = new Set(['operation', 'reason', 'remedy']);

const prose = /(?:\S+\s+){3,}\S+/;
const smallWords = /(?:^|\s)(?:an?|and|are|by|for|is|it|its|may|not|of|or|the|to|was|which|would)(?=\s|$)/;

/** All that a refusal says but its code. */
function isAllText({ type, properties }) {
  return type === 'ObjectExpression' && properties.length > 0 && properties.every(({ key }) => texts.has(key?.name));
}

function wordsOf(node) {
  if (node.type === 'StringLiteral') return node.value;
  return node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.raw).join('X') : undefined;
}

function isArgumentOfRefusal({ node, parentPath }) {
  const { type, callee, arguments: given } = parentPath.node;
  if (type !== 'CallExpression' && type !== 'NewExpression') return false;
  return refusing.get(callee.name)?.includes(given.indexOf(node)) === true;
}

function isTextOfError({ node, parentPath }) {
  const { type, key, value } = parentPath.node;
  return type === 'ObjectProperty' && value === node && texts.has(key.name);
}

function shouldIgnore(path) {
  if (path.parentPath == null) return undefined;
  if (isAllText(path.node) && path.parentPath.node.type === 'NewExpression') return 'the words of a message';
  const words = wordsOf(path.node);
  if (words === undefined) return undefined;
  const isText = isArgumentOfRefusal(path) || isTextOfError(path) || (prose.test(words) && smallWords.test(words));
  return isText ? 'the words of a message' : undefined;
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'texts', { shouldIgnore })];
