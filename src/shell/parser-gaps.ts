/** Where the parser reads a text otherwise than some shell does, or overlooks a part of it. Pure. */
import type { DoubleQuotedPart, ParameterExpansionPart, Word as SyntaxWord } from 'unbash';

/** In a word that it took for plain: where the index of an array has blanks, it does not look for substitutions. */
export function hasOverlooked({ parts, text }: SyntaxWord): boolean {
  return parts === undefined && /`|\$[({]/.test(text.replace(/\\./gs, ''));
}

/** A `sh` without arrays takes this for more than one word. */
export function dividesInSh(index: SyntaxWord | undefined): boolean {
  return /[\s;&|<>()#\\]/.test(index?.text ?? '');
}

/** A shell in POSIX mode ends `"${x-'}'}"` at the first brace, and runs what follows: single quotes are letters there. */
export function expansionsThatEndEarlier({ parts }: DoubleQuotedPart): readonly ParameterExpansionPart[] {
  return parts.filter((part): part is ParameterExpansionPart => {
    if (part.type !== 'ParameterExpansion' || part.operation?.type !== 'Default') return false;
    return /'[^']*\}/.test(part.operation.operand.text.replace(/\\.|\$\{\w+\}/gs, ''));
  });
}
