/** Functions on texts: `target.name(arg)`, and `matches(text, pattern)`, `size(text)`. */
import { fromBytes, lowerAscii } from '../route/bytes.ts';
import { compileRegexp } from '../route/regexp.ts';
import type { TextValue, Value } from './value.ts';

interface TextFunction {
  /** Texts besides the one it is about. */
  readonly args: number;
  compile(text: TextValue, args: readonly TextValue[]): Value;
}

type Test = (text: string, other: string) => boolean;

function test(holds: Test): TextFunction {
  return {
    args: 1,
    compile: ({ read }, [other]) => ({ type: 'flag', read: (request) => holds(read(request), other!.read(request)) }),
  };
}

function change(make: (text: string) => string): TextFunction {
  return {
    args: 0,
    compile: ({ read }) => ({ type: 'text', read: (request) => make(read(request)), constant: null }),
  };
}

function upperAscii(bytes: string): string {
  return bytes.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

export const TEXT_FUNCTIONS: Readonly<Record<string, TextFunction>> = Object.freeze({
  startsWith: test((text, other) => text.startsWith(other)),
  endsWith: test((text, other) => text.endsWith(other)),
  contains: test((text, other) => text.includes(other)),
  lowerAscii: change(lowerAscii),
  upperAscii: change(upperAscii),
  size: {
    args: 0,
    compile: ({ read }: TextValue): Value => ({
      type: 'integer',
      read: (request) => [...fromBytes(read(request))].length,
    }),
  },
  /** Anywhere in the text, as CEL has it. The pattern is compiled once, so it must be constant. */
  matches: {
    args: 1,
    compile: ({ read }: TextValue, [pattern]: readonly TextValue[]): Value => {
      const regexp = compileRegexp(fromBytes(pattern!.constant ?? ''));
      return { type: 'flag', read: (request) => regexp.matcher(fromBytes(read(request))).find() };
    },
  },
});

/** Those that may also be written `name(text, …)`. */
export const FREE_TEXT_FUNCTIONS: readonly string[] = ['matches', 'size'];
