/** The shell parser, a bundle of its own: it is large, and a command without shell text does not need it. */
export { forEachChild, parse } from 'unbash';
