/** CEL tokens to a tree. Bounded in length and depth, so that no configuration can exhaust the stack. */
import { celFault } from './fault.ts';
import { tokenize, type Token } from './lexer.ts';

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in';

interface At {
  /** Index of the first character. */
  readonly at: number;
}

export type Node =
  | (At & { readonly kind: 'text'; readonly value: string })
  | (At & { readonly kind: 'integer'; readonly value: number })
  | (At & { readonly kind: 'flag'; readonly value: boolean })
  | (At & { readonly kind: 'placeholder'; readonly name: string })
  | (At & { readonly kind: 'list'; readonly items: readonly Node[] })
  | (At & { readonly kind: 'map'; readonly entries: readonly (readonly [key: Node, value: Node])[] })
  | (At & { readonly kind: 'not'; readonly operand: Node })
  | (At & { readonly kind: 'and' | 'or'; readonly operands: readonly Node[] })
  | (At & { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Node; readonly right: Node })
  /** `target` null = `name(args)`, else `target.name(args)`. */
  | (At & {
      readonly kind: 'call';
      readonly name: string;
      readonly target: Node | null;
      readonly args: readonly Node[];
    });

const MAX_LENGTH = 16_384;
const MAX_DEPTH = 32;
const COMPARISONS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=', 'in'];

/** Throws `ConfigError` with the place of the fault. */
export function parseCel(text: string): Node {
  if (text.length > MAX_LENGTH) throw celFault(text, MAX_LENGTH, `it is longer than ${MAX_LENGTH} characters`);
  return new Parser(text).whole();
}

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  whole(): Node {
    const node = this.#expression();
    const rest = this.#peek();
    if (rest.kind === 'end') return node;
    if (rest.value === '-') throw celFault(this.#text, rest.at, 'arithmetic is not supported');
    throw celFault(this.#text, rest.at, 'the expression should end');
  }

  /** Every nesting passes here. */
  #expression(): Node {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw celFault(this.#text, this.#peek().at, `it nests deeper than ${MAX_DEPTH}`);
    const node = this.#chain('or', '||', () => this.#chain('and', '&&', () => this.#comparison()));
    this.#depth -= 1;
    return node;
  }

  #chain(kind: 'and' | 'or', sign: string, operand: () => Node): Node {
    const first = operand();
    const operands = [first];
    while (this.#take(sign)) operands.push(operand());
    return operands.length === 1 ? first : { kind, operands, at: first.at };
  }

  #comparison(): Node {
    const left = this.#unary();
    const { value, kind, at } = this.#peek();
    const operator = COMPARISONS.find((known) => kind !== 'text' && known === value);
    if (operator === undefined) return left;
    this.#next += 1;
    return { kind: 'compare', operator: operator as Comparison, left, right: this.#unary(), at };
  }

  #unary(): Node {
    const { at } = this.#peek();
    let negations = 0;
    while (this.#take('!')) negations += 1;
    const operand = this.#take('-') ? this.#negative(at) : this.#calls(this.#primary());
    if (negations === 0) return operand;
    const once: Node = { kind: 'not', operand, at };
    return negations % 2 === 1 ? once : { kind: 'not', operand: once, at };
  }

  #negative(at: number): Node {
    const token = this.#peek();
    if (token.kind !== 'integer') throw celFault(this.#text, at, 'arithmetic is not supported');
    this.#next += 1;
    return { kind: 'integer', value: -Number(token.value), at };
  }

  #calls(primary: Node): Node {
    let node = primary;
    while (this.#take('.')) {
      const name = this.#peek();
      if (name.kind !== 'word') throw celFault(this.#text, name.at, 'a function name is missing behind the dot');
      this.#next += 1;
      this.#expect('(');
      node = { kind: 'call', name: name.value, target: node, args: this.#list(')'), at: name.at };
    }
    return node;
  }

  #primary(): Node {
    const token = this.#peek();
    const { at } = token;
    this.#next += 1;
    switch (token.kind) {
      case 'text':
        return { kind: 'text', value: token.value, at };
      case 'integer':
        return { kind: 'integer', value: Number(token.value), at };
      case 'placeholder':
        return { kind: 'placeholder', name: token.value, at };
      case 'word':
        return this.#word(token);
      case 'end':
        throw celFault(this.#text, at, 'something is missing');
      case 'sign':
        return this.#bracket(token);
    }
  }

  #word({ value, at }: Token): Node {
    if (value === 'true' || value === 'false') return { kind: 'flag', value: value === 'true', at };
    if (this.#take('(')) return { kind: 'call', name: value, target: null, args: this.#list(')'), at };
    const hint = value === 'null' ? 'null is not supported: an absent text is empty' : `unknown word '${value}'`;
    throw celFault(this.#text, at, hint);
  }

  #bracket({ value, at }: Token): Node {
    if (value === '[') return { kind: 'list', items: this.#list(']'), at };
    if (value === '{') return { kind: 'map', entries: this.#entries(), at };
    if (value !== '(') throw celFault(this.#text, at, 'a value is missing');
    const inner = this.#expression();
    this.#expect(')');
    return inner;
  }

  #list(close: string): Node[] {
    const items: Node[] = [];
    while (!this.#take(close)) {
      if (items.length > 0) {
        this.#expect(',');
        if (this.#take(close)) break;
      }
      items.push(this.#expression());
    }
    return items;
  }

  #entries(): (readonly [Node, Node])[] {
    const entries: (readonly [Node, Node])[] = [];
    while (!this.#take('}')) {
      if (entries.length > 0) {
        this.#expect(',');
        if (this.#take('}')) break;
      }
      const key = this.#expression();
      this.#expect(':');
      entries.push([key, this.#expression()]);
    }
    return entries;
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? this.#tokens.at(-1)!;
  }

  #take(sign: string): boolean {
    const token = this.#peek();
    if (token.kind !== 'sign' || token.value !== sign) return false;
    this.#next += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw celFault(this.#text, this.#peek().at, `'${sign}' is missing`);
  }
}
