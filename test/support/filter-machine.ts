/** A classic BPF machine, as small as the filter of system calls needs: an independent reading of its bytes. */
import assert from 'node:assert/strict';

/** As the kernel describes a call to a filter. */
export interface FilteredCall {
  readonly architecture: number;
  readonly number: number;
  readonly arguments?: readonly number[];
}

/** Arguments are 64 bits, loaded by halves. */
function half(argument: number, high: boolean): number {
  return high ? Math.floor(argument / 2 ** 32) : argument % 2 ** 32;
}

export function runFilter(program: Buffer, call: FilteredCall): number {
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const value = program.readUInt32LE(at + 4);
    const skip = (taken: boolean) => {
      at += 8 * program.readUInt8(at + (taken ? 2 : 3));
    };
    switch (program.readUInt16LE(at)) {
      case 0x20:
        accumulator =
          value === 0
            ? call.number
            : value === 4
              ? call.architecture
              : half(call.arguments?.[Math.floor((value - 16) / 8)] ?? 0, value % 8 === 4);
        break;
      case 0x06:
        return value;
      case 0x15:
        skip(accumulator === value);
        break;
      case 0x25:
        skip(accumulator > value);
        break;
      case 0x35:
        skip(accumulator >= value);
        break;
      case 0x45:
        skip((accumulator & value) !== 0);
        break;
      default:
        assert.fail('an instruction that the filter does not use');
    }
  }
  return assert.fail('the filter ended without an answer');
}
